"""What leans on what, drawn: fresh and stale told apart, nothing hidden told, and never more boxes than fit."""

from __future__ import annotations

from muninn.model.content import NotePath
from muninn.web import bound, layers
from muninn.web.bound import Web
from tests.web.desk import Desk


def woven(desk: Desk, rights: object = None) -> Web:
    found = bound.web(desk.door, rights or desk.insider())  # type: ignore[arg-type]
    assert isinstance(found, Web), found
    return found


def two_layers(desk: Desk) -> None:
    for name in ("s/a.md", "s/b.md", "s/low.md", "s/top.md"):
        desk.write(name, name)
    desk.register("s/low.md", "s/a.md", "s/b.md")
    desk.register("s/top.md", "s/low.md")


def test_fresh_first_then_stale_all_the_way_up(desk: Desk) -> None:
    two_layers(desk)
    before = woven(desk)
    assert {edge.health for edge in before.edges} == {"fresh"}
    assert {node.health for node in before.nodes.values()} == {"fresh"}
    desk.write("s/a.md", "something else")
    after = woven(desk)
    health = {(edge.source, edge.summary): edge.health for edge in after.edges}
    assert health == {
        ("s/a.md", "s/low.md"): "stale",
        ("s/b.md", "s/low.md"): "fresh",
        ("s/low.md", "s/top.md"): "stale",
    }
    assert {path: node.health for path, node in after.nodes.items()} == {
        "s/low.md": "stale",
        "s/top.md": "stale",
        "s/a.md": "stale",
        "s/b.md": "fresh",
    }
    assert after.nodes[NotePath("s/a.md")].why == ["it changed"]
    assert "s/a.md: it changed" in after.nodes[NotePath("s/low.md")].why


def test_claims_stand_at_their_source_and_abstaining_ones_say_nothing(desk: Desk) -> None:
    desk.write("s/a.md", "one")
    desk.claim("a holds one", "s/a.md")
    node = woven(desk).nodes[NotePath("s/a.md")]
    assert [row.statement for row in node.held] == ["a holds one"]
    assert node.told == "source, as it was, claims: 1 held, 0 abstaining"
    desk.archive("s/a.md")
    node = woven(desk).nodes[NotePath("s/a.md")]
    assert (node.held, len(node.abstaining), node.health, node.why) == ([], 1, "stale", ["it was archived"])
    assert "a holds one" not in repr(node)


def test_what_may_not_be_seen_is_in_no_node_and_no_edge(desk: Desk) -> None:
    two_layers(desk)
    desk.write("private/p.md", "hidden")
    desk.claim("hidden", "private/p.md")
    desk.write("s/secret-sum.md", "in short")
    desk.register("s/secret-sum.md", "private/p.md", "s/b.md")
    seen = woven(desk, desk.rights())
    assert not any("private" in path or "secret" in path for path in seen.nodes)
    assert not any("private" in edge.source or "secret" in edge.summary for edge in seen.edges)
    assert "private/p.md" in woven(desk).nodes


def test_the_drawing_goes_from_left_to_right_and_no_box_lies_on_another(desk: Desk) -> None:
    assert layers.drawn(woven(desk)) is None
    two_layers(desk)
    drawing = layers.drawn(woven(desk))
    assert drawing is not None
    x = {box.node.path: box.x for box in drawing.boxes}
    assert x[NotePath("s/a.md")] == x[NotePath("s/b.md")] < x[NotePath("s/low.md")] < x[NotePath("s/top.md")]
    places = [(box.x, box.y) for box in drawing.boxes]
    assert len(set(places)) == len(places) == 4
    for one in drawing.boxes:
        assert 0 <= one.x <= drawing.width - layers.BOX
        assert 0 <= one.y <= drawing.height - layers.HEIGHT
        for other in drawing.boxes:
            assert one is other or abs(one.x - other.x) >= layers.BOX or abs(one.y - other.y) >= layers.HEIGHT


def test_a_cycle_is_drawn_once_and_told_unknown(desk: Desk) -> None:
    for name in ("s/a.md", "s/b.md"):
        desk.write(name, name)
    desk.register("s/a.md", "s/b.md")
    desk.register("s/b.md", "s/a.md")
    found = woven(desk)
    assert {node.health for node in found.nodes.values()} == {"unknown"}
    drawing = layers.drawn(found)
    assert drawing is not None
    assert len(drawing.boxes) == 2
    assert len(drawing.lines) == 2


def test_no_more_boxes_than_fit_and_stale_ones_first(desk: Desk) -> None:
    for number in range(30):
        sources = [f"n/{number}-{part}.md" for part in range(3)]
        for name in (*sources, f"n/{number}-sum.md"):
            desk.room.lay(name, name.encode())
        desk.register(f"n/{number}-sum.md", *sources)
    desk.room.lay("n/29-0.md", b"other")
    found = woven(desk)
    drawing = layers.drawn(found)
    assert drawing is not None
    assert len(drawing.boxes) == layers.MOST
    assert drawing.left_out == len(found.nodes) - layers.MOST > 0
    assert "n/29-sum.md" in {box.node.path for box in drawing.boxes}


def test_one_summary_of_more_sources_than_fit_is_cut_and_said(desk: Desk) -> None:
    sources = [f"n/{part}.md" for part in range(100)]
    for name in (*sources, "n/sum.md"):
        desk.room.lay(name, name.encode())
    desk.register("n/sum.md", *sources)
    drawing = layers.drawn(woven(desk))
    assert drawing is not None
    assert (len(drawing.boxes), drawing.left_out) == (layers.MOST, 101 - layers.MOST)
