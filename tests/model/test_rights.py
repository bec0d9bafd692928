"""Rights: what a glob covers, and that privacy is decided on the path alone."""

from __future__ import annotations

import pytest

from muninn.model.rights import DEFAULT_SCOPES, Globs, Rights


@pytest.mark.parametrize(
    ("glob", "path", "covered"),
    [
        ("*", "a/b.md", False),
        ("*", "b.md", True),
        ("a/**", "a", True),
        ("", "b.md", False),
        ("**", "a/b.md", True),
        ("a/*", "a/b.md", True),
        ("a/*", "a/b/c.md", False),
        ("a/**", "a/b/c.md", True),
        ("a/**", "ab/c.md", False),
        ("a/", "a/b/c.md", True),
        ("a/", "b/a/c.md", False),
        ("a", "a/b.md", True),
        ("a", "a", True),
        ("a", "ab.md", False),
        ("/a/", "a/b.md", True),
        ("a/b.md", "a/b.md", True),
        ("a/b.md", "x/a/b.md", False),
        ("**/b.md", "b.md", True),
        ("**/b.md", "x/y/b.md", True),
        ("**/b.md", "x/ab.md", False),
        ("a/**/z.md", "a/z.md", True),
        ("a?.md", "ab.md", True),
        ("a?.md", "a/.md", False),
        ("?.md", "é.md", True),
        ("a.md", "axmd", False),
        ("[ab].md", "a.md", False),
        ("(a|b).md", "a.md", False),
        ("Projects/", "projects/x.md", True),
        ("projects/", "PROJECTS/x.md", True),
        ("straße/", "STRASSE/x.md", True),
        ("caf\u00e9/", "cafe\u0301/x.md", True),
        ("a*/", "abc/x/y.md", True),
        ("*.md", "a\nb.md", True),
    ],
)
def test_what_a_glob_covers(glob: str, path: str, covered: bool) -> None:
    assert Globs((glob,)).cover(path) is covered


def test_no_glob_covers_nothing_and_any_of_several_is_enough() -> None:
    assert not Globs(()).cover("a.md")
    assert Globs(("x/", "a.md")).cover("a.md")


def of(*scopes: str, read: str = "**", write: str = "**") -> Rights:
    return Rights("ada", frozenset(scopes), Globs((read,)), Globs((write,)), Globs(("private/",)))


def test_private_is_hidden_without_the_scope() -> None:
    assert not of("read", "write").sees("private/a.md")
    assert not of("read", "write").changes("private/a.md")
    assert not of("read").sees("PRIVATE/a.md")
    assert of("private").sees("private/a.md")
    assert of("private").changes("private/a.md")


def test_private_is_a_matter_of_the_path_whoever_asks() -> None:
    assert of("private").is_private("private/a.md")
    assert not of("read").is_private("a/private.md")


def test_who_may_not_see_may_not_change() -> None:
    assert not of(read="a/", write="**").changes("b.md")
    assert not of(read="**", write="a/").changes("b.md")
    assert of(read="**", write="a/").sees("b.md")


def test_private_and_metrics_are_not_given_by_default() -> None:
    assert {"read", "write", "archive", "code"} == DEFAULT_SCOPES
