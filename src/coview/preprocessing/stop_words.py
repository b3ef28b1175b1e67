"""Function words of eleven languages, and which of these languages a collection of texts is in.

A function word ("the", "und", "pour") holds a sentence together and says nothing of what it is about. The lists are
short on purpose: words that are merely frequent are left to the bounds on document frequencies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

__all__ = ["LANGUAGES", "STOP_WORDS", "detect_language"]

_LEAST = 0.08  # share of function words below which texts are in none of the languages: prose has 30 to 50 %
_WORD = re.compile(r"[^\W\d_]+")
_ANYWHERE = "http https www com org html etc"

_LISTS = {
    "english": """
        a an the and or but nor so yet if then else than that this these those there here where when while why how
        who whom whose which what whatever whichever whoever i me my mine myself we us our ours ourselves you your
        yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs
        themselves one ones is am are was were be been being isn aren wasn weren do does did done doing don doesn
        didn has have had having hasn haven hadn can cannot could couldn may might must mustn shall should shouldn
        will would wouldn won ll ve re to of in on at by for from with without within into onto upon about above
        below over under between among through during before after since until against along across toward towards
        off out up down as because although though unless whether also too very more most much many few less least
        some any all both each every either neither other others another such same own only just even still already
        again always never ever often once not no yes per via however therefore thus hence rather quite like well
        get gets got let make makes made use used uses using e.g i.e eg ie vs
    """,
    "german": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen und oder aber doch sondern denn
        wenn als wie ob dass daß weil da damit obwohl während bis seit bevor nachdem ich mich mir mein meine wir uns
        unser unsere du dich dir dein deine ihr euch euer er ihn ihm sein seine seinen seiner sie ihre ihren ihrer
        es man sich ist sind war waren bin bist wird werden wurde wurden worden hat haben hatte hatten habe kann
        können konnte soll sollen sollte muss müssen darf dürfen will wollen mag würde würden in im an am auf aus
        bei beim mit nach von vom vor zu zum zur über unter durch für gegen ohne um zwischen nicht nichts nur noch
        auch schon sehr mehr viel viele wenig alle alles andere anderen diese dieser dieses diesen diesem jede jeder
        jedes jener welche welcher so dann hier dort wo wer was wann warum immer nie wieder etwa sowie bzw
    """,
    "french": """
        le la les l un une des du de d et ou mais donc or ni car si que qu qui quoi dont où quand comme lorsque
        puisque je j me m moi mon ma mes nous notre nos tu te t toi ton ta tes vous votre vos il elle on lui se s
        soi son sa ses ils elles leur leurs ce c cet cette ces cela ça celui celle ceux y en est sont était étaient
        être été suis es sommes êtes sera seront ai as a avons avez ont avait avaient avoir eu fait faire font peut
        peuvent pouvoir doit doivent à au aux dans par pour sur sous avec sans entre vers chez avant après depuis
        pendant contre ne n pas plus moins très trop peu aussi ainsi alors encore déjà toujours jamais tout toute
        tous toutes autre autres même mêmes chaque plusieurs quelque quelques aucun aucune bien non oui
    """,
    "spanish": """
        el la los las lo un una unos unas y e o u pero sino ni que si como cuando donde porque aunque mientras yo me
        mi mis mí nosotros nos nuestro nuestra tú te ti tu tus vosotros os él ella ellos ellas usted ustedes se su
        sus sí le les este esta estos estas esto ese esa esos esas eso aquel aquella es son era eran ser sido fue
        fueron soy eres somos será está están estaba estar ha han había haber he hay tiene tienen tener puede pueden
        poder debe hacer hace a al ante bajo con contra de del desde en entre hacia hasta para por según sin sobre
        tras durante no más menos muy mucho mucha muchos poco también tan tanto así ya aún todavía siempre nunca
        todo toda todos todas otro otra otros otras mismo misma cada cual cuales quien qué cómo algún alguna algunos
    """,
    "italian": """
        il lo la i gli le l un uno una e ed o ma però né se che chi cui come quando dove perché mentre anche io mi
        me mio mia miei noi ci nostro nostra tu ti te tuo tua voi vi vostro lui lei egli esso essa loro si sé suo
        sua suoi sue questo questa questi queste quello quella quelli quelle ciò è sono era erano essere stato stata
        stati fu sarà ha hanno aveva avere ho abbiamo può possono potere deve fare fa a ad al allo alla ai agli alle
        di del dello della dei degli delle d da dal dalla dai dalle in nel nello nella nei nelle con su sul sulla
        sui per tra fra senza non più meno molto molti poco così già ancora sempre mai tutto tutta tutti tutte altro
        altra altri altre stesso ogni quale quali
    """,
    "portuguese": """
        o a os as um uma uns umas e ou mas nem se que quem como quando onde porque embora enquanto eu me mim meu
        minha nós nos nosso nossa tu te teu tua você vocês ele ela eles elas lhe lhes si seu sua seus suas este esta
        estes estas isto esse essa esses essas isso aquele aquela é são era eram ser sido foi foram será está estão
        estava estar há tem têm tinha ter pode podem poder deve fazer faz à ao aos às de do da dos das em no na nas
        num numa por pelo pela pelos pelas para com sem sob sobre entre até desde após contra não mais menos muito
        muitos pouco também tão assim já ainda sempre nunca todo toda todos todas outro outra outros outras mesmo
        mesma cada qual quais
    """,
    "dutch": """
        de het een en of maar want dus als dat dan toen omdat hoewel terwijl ik me mij mijn wij we ons onze jij je
        jou jouw jullie u uw hij hem zijn zij ze haar hun hen zich men er dit deze die wie wat waar wanneer waarom
        hoe welke is was waren ben bent wordt worden werd werden geworden heeft hebben had hadden heb kan kunnen kon
        zal zullen zou zouden moet moeten mag mogen wil willen aan af bij binnen boven door in langs met na naar
        naast om onder op over sinds te tegen ten ter tot tussen uit van vanaf via voor zonder niet geen niets nog
        ook al zeer heel meer veel weinig alle alles ander andere zo hier daar altijd nooit weer
    """,
    "swedish": """
        en ett den det de dem och eller men för att som om när då där här vad vem vilken vilka varför hur jag mig
        min mitt mina vi oss vår vårt våra du dig din ditt dina ni er han honom hans hon henne hennes man sig sin
        sitt sina denna detta dessa är var vara varit blir bli blev har hade ha kan kunde ska skall skulle måste får
        fick vill i in på av till från med utan över under mellan genom mot efter före vid ur inte ingen inget inga
        bara också mycket mer många alla allt annan annat andra så än redan alltid aldrig igen
    """,
    "danish": """
        en et den det de dem og eller men for at som om når da hvor her der hvad hvem hvilken hvorfor hvordan jeg
        mig min mit mine vi os vores du dig din dit dine i jer han ham hans hun hende hendes man sig sin sit sine
        denne dette disse er var være været bliver blive blev har havde have kan kunne skal skulle må måtte vil
        ville på af til fra med uden over under mellem gennem mod efter før ved ud ikke ingen intet kun også meget
        mere mange alle alt anden andet andre så end allerede altid aldrig igen
    """,
    "norwegian": """
        en et ei den det de dem og eller men for å at som om når da hvor her der hva hvem hvilken hvorfor hvordan
        jeg meg min mitt mine vi oss vår vårt våre du deg din ditt dine dere han ham hans hun henne hennes man seg
        sin sitt sine denne dette disse er var være vært blir bli ble har hadde ha kan kunne skal skulle må måtte
        vil ville på av til fra med uten over under mellom gjennom mot etter før ved ut ikke ingen intet bare også
        mye mer mange alle alt annen annet andre så enn allerede alltid aldri igjen
    """,
    "russian": """
        и а но или да не ни что чтобы как когда где если хотя потому так то же ли бы я меня мне мой моя мы нас нам
        наш ты тебя тебе твой вы вас вам ваш он его ему она её ее ей они их им себя свой своя свои это этот эта эти
        того тот та те кто кого чем чего который которая которое которые был была было были быть есть будет может
        можно нужно в во на с со к ко у о об от до из за по под над при про для без через между после перед также
        только уже ещё еще очень более весь все всё всех другой другие каждый сам самый там здесь тут нет
    """,
}
# words of all languages, such as "etc", are added after languages were told apart by their own
STOP_WORDS = {language: frozenset(f"{words} {_ANYWHERE}".split()) for language, words in _LISTS.items()}
LANGUAGES = {  # names that are understood
    **{language: language for language in STOP_WORDS},
    **dict(zip(["en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "ru"], STOP_WORDS)),
}


def detect_language(texts: Iterable[str]) -> str | None:
    """Return the language whose function words are most frequent in the texts; None where hardly any are.

    One word alone says nothing: what is an article in one language ("die", "den") is a noun in another.

    Examples
    --------
    >>> detect_language(["The fox is in the garden", "It was a quick brown fox"])
    'english'
    >>> detect_language(["red fox", "blue sea"]) is None
    True
    """
    # 2,000 texts tell a language as well as all of them
    counts = Counter(word for text in islice(texts, 2000) for word in _WORD.findall(text.lower()))
    total = sum(counts.values())
    if not total:
        return None
    hits = {
        language: [counts[word] for word in set(words.split()) & counts.keys()] for language, words in _LISTS.items()
    }
    # related languages share function words; the right one has the most
    best = max(hits, key=lambda language: sum(hits[language]))
    return best if sum(hits[best]) > _LEAST * total and len(hits[best]) > 1 else None
