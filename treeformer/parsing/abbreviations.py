"""Abbreviations with a full stop in English, German and French, and the words that may follow them.

An entry in lower case also stands for its capitalised and upper-case spellings (``etc``: *Etc.*, *ETC.*), an
entry with a capital only for itself and upper case (``Gen``: *GEN.*, not *gen.*). Full stops are omitted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Abbreviations:
    """The abbreviations of a language: every spelling, with its full stop."""

    bound: frozenset[str]  #: never end a sentence: *Mr.*, *e.g.*
    loose: frozenset[str]  #: end one before a word of ``openers``: *Jr.*, *Inc.*
    final: frozenset[str]  #: end one before any capital letter: *etc.*
    numbered: frozenset[str]  #: abbreviations before a number, words elsewhere: *No. 5*, but *Oh no.*
    openers: frozenset[str]  #: capitalised words that usually open a sentence
    months: frozenset[str] = frozenset()  #: a number and full stop before one of them is an ordinal
    before_ordinals: frozenset[str] = frozenset()  #: a number and full stop after one of them is an ordinal

    @property
    def all(self) -> frozenset[str]:
        """Every spelling of every abbreviation."""
        return self.bound | self.loose | self.final | self.numbered


def spellings(words: str) -> frozenset[str]:
    """Every spelling, with its full stop, of entries separated by spaces.

    >>> sorted(spellings("etc Gen"))
    ['ETC.', 'Etc.', 'GEN.', 'Gen.', 'etc.']
    """
    spelled: set[str] = set()
    for entry in words.split():
        spelled |= {f"{entry}.", f"{entry.upper()}."}
        if entry.islower():
            spelled.add(f"{entry[0].upper()}{entry[1:]}.")
    return frozenset(spelled)


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH_TITLES = """
    mr mrs ms messrs dr drs prof profs Rev Hon Gen Col Maj Capt Cpt Cmdr Sgt Lt Cpl Pvt Adm Gov Sen Sens Rep
    Reps Pres Supt Insp Det Amb Fr Msgr Mme Mlle Ste Mt Ft
"""
_ENGLISH_DATES = "Jan Feb Febr Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri"
_ENGLISH_STATES = """
    Ala Ariz Ark Calif Colo Conn Fla Ill Kan Kans Mich Minn Mont Nev Okla Ore Penn Penna Tenn Tex Wash Wis
    Wisc Wyo
"""

ENGLISH = Abbreviations(
    bound=spellings(f"{_ENGLISH_TITLES} vs viz cf eg ie e.g i.e approx ca incl excl resp esp eds repr"),
    loose=spellings(
        f"{_ENGLISH_DATES} {_ENGLISH_STATES} jr sr inc Co Corp Cos ltd plc llc Pty Mfg Assn Dept Univ"
        " Ave Blvd Rd Hwy Sq Bldg Est est tel ext Ph Ph.D St Bros al"
    ),
    final=spellings("etc e.t.c"),
    numbered=spellings("no nos vol vols art arts fig figs ch chs sec secs pp pg eq nr"),
    openers=_words("""
        The This That These Those There Then He She It They We You His Her Its Their Our I In On At As A An
        And But Or So If When While Although Though However What Who Why How Where After Before Since Because
        For From With Not Now Here Also Even Yet Some Most Many One Once Both Each All
    """),
)

GERMAN = Abbreviations(
    bound=spellings("""
        dr prof Hr Hrn Fr St Mr Mrs Ms Dipl Ing med jur Frhr bzw ca d.h z.B u.a u.U u.ä o.ä o.g s.o s.u
        i.d.R z.T z.Zt evtl ggf sog vgl bspw einschl inkl exkl insb insbes mind Str allg
        betr bez gem lt jew urspr zw zzgl abzgl ABl Nrn Aufl Hrsg kath ev
    """),
    loose=spellings("Mio Mrd Tsd Co Corp Inc Ltd jr sen jun Dept"),
    final=spellings("usw usf etc u.a.m u.ä.m"),
    numbered=spellings("nr max min Art Abs Ziff Kap Bd Abb Tab Anm Rn Rz Tel"),
    openers=_words("""
        Der Die Das Des Dem Den Ein Eine Einen Einem Einer Er Sie Es Ich Wir Ihr Man Dies Diese Dieser Dieses
        Diesen Wenn Weil Da Dann Damit Denn Doch Aber Und Oder Auch Nun So Hier Dort Was Wer Wie Wo Warum Im
        In Am An Auf Aus Bei Für Mit Nach Von Vor Zu Zum Zur Nicht Nur Noch Jetzt Daher Deshalb Dabei Dazu
        Außerdem Allerdings Jedoch Mein Meine Unser Unsere Sein Seine Ihre Alle Als Ob Obwohl Seit Herr Frau
    """),
    months=_words("""
        Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jahrhundert
        Jahrhunderts
    """),
    before_ordinals=_words("""
        am vom zum zur im ins beim der die das dem den des ein eine einen einem einer bis seit ab und oder
        dieser diese dieses diesem diesen jeder jede jedes jedem jeden ihr ihre ihren ihrem sein seine seinen
        seinem unser unsere unseren mein meine meinen
    """),
)

FRENCH = Abbreviations(
    bound=spellings("M MM Mme Mmes Mlle Mlles dr drs prof Me Mgr St Ste cf env p.ex c.-à-d Mr Mrs"),
    loose=spellings("janv févr avr juil sept oct nov déc jr Inc Co Ltd Cie Ave boul bd"),
    final=spellings("etc"),
    numbered=spellings("art no nos vol fig chap pp tél"),
    openers=_words("""
        Le La Les Un Une Des Ce Cet Cette Ces Il Elle Ils Elles On Je Tu Nous Vous Mais Et Ou Donc Or Car Si
        Quand Lorsque Dans En Au Aux Pour Par Sur Avec Sans Après Avant Comme Puis Ensuite Cependant Toutefois
        Enfin Ainsi Mon Ma Mes Notre Nos Votre Vos Leur Leurs Son Sa Ses Qui Que Quoi À Ne C' C’ J' J’ L' L’
        D' D’ S' S’ N' N’ Qu' Qu’
    """),
)
