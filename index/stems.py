"""Stemmers and stop words by language.

The stemmers are those of the Snowball project (package ``PyStemmer``, its C library). They are loaded when a language
is asked for, and one is never in use twice at once: a call holds the interpreter's lock from beginning to end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final


def stemmer(language: str) -> Callable[[str], str]:
    """The function that cuts a folded word to its stem; the word itself for a language without a stemmer.

    >>> stemmer("english")("measuring")
    'measur'
    """
    import Stemmer

    try:
        # Words are remembered with all their forms; a second memory would only cost.
        found = Stemmer.Stemmer(language, 0)
    except KeyError:
        return str
    stem: Callable[[str], str] = found.stemWord
    return stem


def stop_words(language: str) -> frozenset[str]:
    """Words that stand in nearly every sentence of a language, folded; empty for a language we have no list of."""
    return frozenset(_STOP.get(language, "").split())


_STOP: Final = {
    "english": """
        a about above after again against all also am an and any are aren around as at be because been before
        being below between both but by can cannot could couldn d did didn do does doesn doing don done down
        during each else ever every few for from further get gets getting go goes going got had hadn has hasn
        have haven having he her here hers herself him himself his how however i if in into is isn it its itself
        just let ll m may me might more most much must my myself need no nor not now of off on once one only
        onto or other our ours ourselves out over own per please re s same shall she should shouldn since so
        some such t than that the their theirs them themselves then there these they this those though through
        to too under until up upon us ve very via was wasn we were weren what when where whether which while who
        whom whose why will with within without won would wouldn yes yet you your yours yourself yourselves""",
    "german": """
        aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf
        aus bei bin bis bist da damit dann das dass dein deine dem den denn der des dessen dich die dies diese
        diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch
        euer fur gegen hab habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre im in ins ist
        ja jede jedem jeden jeder jedes kann kein keine konnen man mein meine mich mir mit muss mussen nach
        nicht nichts noch nun nur ob oder ohne sehr sein seine sich sie sind so soll sollen sollte sondern sonst
        um und uns unser unter viel vom von vor war waren warum was weil welche welchem welchen welcher welches
        wenn wer werde werden wie wieder will wir wird wo wollen wurde wurden zu zum zur zwar zwischen""",
    "french": """
        a ai au aux avec avoir c ce ces cet cette comme comment d dans de des dont du elle elles en entre est et
        etait ete etre eu eux fait font il ils j je l la le les leur leurs lui m ma mais me meme mes moi mon n
        ne ni nos notre nous on ont ou par pas plus pour pourquoi qu quand que quel quelle quelles quels qui
        quoi s sa sans se sera ses si son sont sous sur t ta te tes toi ton tu un une vos votre vous y""",
    "spanish": """
        a al algo algun alguna algunas algunos ante antes asi aun aunque cada como con contra cual cuales cuando
        de del desde donde dos e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba
        estan estar estas este esto estos fue fueron ha hace hacer han hasta hay la las le les lo los mas me mi
        mis mucho muy nada ni no nos nosotros o otra otras otro otros para pero poco por porque puede pueden
        pues que quien quienes se sea ser si sin sobre solo son su sus tambien tan tanto te tiene tienen todo
        todos tu tus un una unas uno unos y ya yo""",
    "italian": """
        a ad ai al alla alle allo anche avere c che chi ci come con cosa cui d da dagli dai dal dalla dalle de
        degli dei del della delle dello di dopo dove e ed era essere fa fra gli ha hai hanno ho i il in io l la
        le lei lo loro lui ma mi mia mio molto ne nei nel nella nelle no noi non o per perche piu quale quando
        quanto quella quello questa queste questi questo qui se sei si sia siamo sono su sua sugli sul sulla suo
        tra tu un una uno vi voi""",
    "portuguese": """
        a ao aos as ate com como da das de dela dele deles depois do dos e ela elas ele eles em entre era essa
        esse esta estao estar este eu foi foram ha isso isto ja la lhe mais mas me mesmo meu minha muito na nao
        nas nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quando que
        quem se sem ser seu seus so sua suas tambem te tem tinha um uma umas uns voce""",
    "dutch": """
        aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge
        geen haar had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer
        men met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over te tegen toch toen tot u uit
        uw van veel voor waarom waar was wat we wel werd wie wij wil worden wordt zal ze zelf zich zij zijn zo
        zonder zou""",
    "turkish": """
        acaba ama ancak bana bazi belki ben beni benim bir biri bircok biz bize bizim bu buna bunu bunun cok
        cunku da daha de defa degil diye dolayi en gibi hangi hem hep hepsi her hic icin ile ise ki kim kimi mi
        mu nasil ne neden nedir nerede niye o olan olarak oldu olur ona onlar onu onun sen seni senin siz sizin
        su sonra ve veya var vardir ya yani yok zaten""",
}
