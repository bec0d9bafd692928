"""Stemmers and stop words by language.

The stemmers are those of the Snowball project (package ``PyStemmer``, its C library). They are loaded when a language
is asked for, and one is never in use twice at once: a call holds the interpreter's lock from beginning to end.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final


def stemmer(language: str) -> Callable[[str], str]:
    """The function that cuts a word in lower case to its stem; the word itself for a language without a stemmer.

    >>> stemmer("english")("measuring")
    'measur'
    """
    found = _snowball(language)
    if found is None:
        return str
    stem: Callable[[str], str] = found.stemWord
    return stem


def stem_all(language: str, words: list[str]) -> list[str]:
    """The stems of many words in lower case at once, which costs a third of asking for each."""
    found = _snowball(language)
    return words if found is None else list(found.stemWords(words))


@functools.cache
def _snowball(language: str) -> Any:
    import Stemmer

    try:
        # Words are remembered with all their forms; a second memory would only cost.
        return Stemmer.Stemmer(language, 0)
    except KeyError:
        return None


def languages() -> tuple[str, ...]:
    """The languages whose stop words are known here, each of which has a stemmer, too."""
    return tuple(_STOP)


def keeps_first_letter(language: str) -> bool:
    """Whether every stem of a language begins as its word does. Dutch cuts ``ge-`` off: gebouwd, bouw.

    >>> keeps_first_letter("english"), keeps_first_letter("dutch"), stemmer("dutch")("gebouwd")
    (True, False, 'bouw')
    """
    return language in _STOP and language != "dutch"


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
        uw van veel voor waar waarom was wat we wel werd wie wij wil worden wordt zal ze zelf zich zij zijn zo
        zonder zou""",
    "turkish": """
        acaba ama ancak bana bazi belki ben beni benim bir bircok biri biz bize bizim bu buna bunu bunun cok
        cunku da daha de defa degil diye dolayi en gibi hangi hem hep hepsi her hic icin ile ise ki kim kimi mi
        mu nasil ne neden nedir nerede niye o olan olarak oldu olur ona onlar onu onun sen seni senin siz sizin
        sonra su var vardir ve veya ya yani yok zaten""",
    "swedish": """
        alla allt an andra ar at att av bara blev bli blir blivit da dar de dem den denna deras dess dessa det
        detta dig din dina ditt du efter eller en er era ert ett for fran ha hade han hans har hela henne hennes
        hon honom hur i icke ingen inom inte jag ju kan kunde man manga med mellan men mig min mina mitt mot
        mycket nagon nagot nagra nar ni nu och om oss over pa sa samma sedan sig sin sina sitt ska skall som
        till under upp ut utan vad var vara varfor varit varje vart vem vi vid vilka vilken vilket vill""",
    "danish": """
        ad af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du
        efter eller en end er et for fra ham han hans har havde have hende hendes her hos hun hvad hvem hver
        hvilken hvilket hvis hvor hvordan hvorfor hvornar i ikke ind jeg jer jo kan kunne man mange med meget
        men mig min mine mit mod nar ned noget nogle og ogsa om op os over pa sadan selv sig sin sine sit skal
        skulle som til ud under vaere vaeret var vi vil ville vor æ""",
    "norwegian": """
        alle at av bare begge ble blei blir blitt da de deg dem den denne der dere deres det dette di din disse
        ditt du eller en er et ett etter for fordi fra ha hadde han hans har hennes her hos hun hva hvem hver
        hvilken hvis hvor hvordan hvorfor i ikke ingen inn jeg kan kom kunne man mange med meg meget mellom men
        min mine mitt mot mye nar no noe noen og ogsa om opp oss over pa sa samme seg selv si sin sine sitt skal
        skulle slik som til ut uten vaere var vart ved vi vil ville vært""",
    "finnish": """
        ei eika eivat en ennen etta ha han hanen he heidan hyvin ihan ilman itse ja jo johon joka jokainen jonka
        jos joskus jossa jotka jotta kai kaikki kanssa kautta keskella koska koskaan kuin kuinka kuka kun kuten
        me meidan mika miksi milla milloin mina minun missa mista mita miten mutta myos ne niiden niin niita
        noin nyt olen olet oli olin olisi olivat olla olleet ollut on ovat paljon se seka sen siella siita silla
        sina sinun sita tahan tai tama taman tassa te ten vaan vai vaikka vain viela voi voiko voin voivat yli""",
    "hungarian": """
        a ahogy ahol aki akik akkor alatt amely ami amikor annak arra az azok azon azt aztan be belul benne cikk
        csak de e eddig egesz egy egyeb egyik ehhez ekkor el elott elso en ennek erre es ez ezek ezen ezert ezt
        fel ha hanem hiszen hogy hogyan hol honnan ide igen ill ilyen is ismet itt jo kell kellett ki kivul
        lehet lenne lesz lett maga mar mas meg mely melyik mert mi miatt mikor milyen mind minden mindig mint
        mit mivel most nagyon ne neha nekem neki nem nincs o ok olyan ott pedig sem sok szamara szerint szet
        tehat tobb ugy utan vagy vagyok valaki valami van vannak vele volt""",
    "romanian": """
        a acea aceasta aceea acei acel acela acele acest acesta aceste acestea acestui acolo acum ai aici al ale
        alt alta alte am ar are as asa asta astfel asupra atunci au avea aveti ca cand care cat ce cea cei cel
        cele celor chiar ci cine cu cum cumva daca dar dat de decat deci deja desi despre din dintr dintre doar
        dupa ea ei el ele era este eu exista fara fi fie fiecare fost in inainte inca intr intre isi la le lor
        lui mai mea mele mi mine mult multe n ne ni nici nimic noi nu o ori pana pe pentru peste poate prin s sa
        sale sau se si sub sunt suntem te toata toate tot toti totul tu un una unde unei unele unor unui va voi
        vom vor""",
    "russian": """
        а без более был была были было быть в вам вас вдруг ведь во вот все всего всех вы где да даже для до его
        ее если есть еще ж же за здесь и из или им их к как какая какие какои когда которая которые которыи кто
        куда ли лучше между меня мне много может можно мои моя мы на над надо наш не него нее нет ни них но ну о
        об один он она они оно от очень по под после потом потому почему при про раз с сам свои свою себе себя
        сеичас со так такои там тебя тем теперь то тогда того тоже только том тот ту ты у уже хоть чего чеи чем
        через что чтобы чуть эта эти этого этои этом этот эту я""",
}
