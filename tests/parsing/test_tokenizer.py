"""Tokens and sentences in three languages."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformer.parsing.tokenizer import LANGUAGES, tokenize

# Sentences are separated by " | ", tokens by spaces.
ENGLISH = {
    "A man isn't sleeping.": "A man is n't sleeping .",
    "It's IT'S it’s they'll We've I'd": "It 's IT 'S it ’s they 'll We 've I 'd",
    "can't've cannot gonna y'all 'tis": "ca n't 've can not gon na y' all 't is",
    "dogs' rock 'n' roll 'em o'clock O'Neill's": "dogs ' rock 'n' roll 'em o'clock O'Neill 's",
    "80's '80s 1980's 1990s 2nd": "80's '80s 1980 's 1990s 2nd",
    "$3.50/hr 1,000.5 10:30 1/2 50% -5 15-20": "$ 3.50 / hr 1,000.5 10:30 1/2 50 % -5 15 - 20",
    "well-known e-mail co-operate two-fold T-shirt": "well - known e-mail co-operate two-fold T - shirt",
    "and/or Q&A AT&T stone &amp; tile": "and / or Q&A AT&T stone &amp; tile",
    'He said: "Go." Then he left.': 'He said : " Go . " | Then he left .',
    "He said, “It’s fine.” ‘Really?’ Yes!": "He said , “ It ’s fine . ” | ‘ Really ? ’ | Yes !",
    "(He lied.) [She did not.]": "( He lied . ) | [ She did not . ]",
    "Wait... what?! No--yes — no!!!": "Wait ... what ?! | No -- yes — no !!!",
    "That is all.... Then it ended.. He left.": "That is all .... | Then it ended .. | He left .",
    "Mr. Smith's dog met Dr. J. R. Jones Jr. in St. Louis.": (
        "Mr. Smith 's dog met Dr. J. R. Jones Jr. in St. Louis ."
    ),
    "U.S. troops left the U.S. He stayed.": "U.S. troops left the U.S. | He stayed .",
    "At 5 p.m. He left at 6 p.m. and slept.": "At 5 p.m. | He left at 6 p.m. and slept .",
    "Plays (e.g. this), films, etc. are cheap, etc. Books are not.": (
        "Plays ( e.g. this ) , films , etc. are cheap , etc. | Books are not ."
    ),
    "Is it No. 5? No. It is not.": "Is it No. 5 ? | No . | It is not .",
    "See http://a.b/c?d=e. Or www.a.org, a@b.com, (a.com/b.html)": (
        "See http://a.b/c?d=e . | Or www.a.org , a@b.com , ( a.com/b.html )"
    ),
    "bad film. i hated it! dont watch it": "bad film . | i hated it ! | do nt watch it",
    "great movie.The plot was bad!Really": "great movie . | The plot was bad ! | Really",
    "@you #NLProc is fun :-) <3 \U0001f602\U0001f602 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea": (
        "@you #NLProc is fun :-) <3 \U0001f602 \U0001f602 \U0001f44d\U0001f3fd \U0001f1e9\U0001f1ea"
    ),
    "Version v2.0 of file.txt costs 3.5.": "Version v2.0 of file.txt costs 3.5 .",
    "Stocks fall 3.5% as rates rise": "Stocks fall 3.5 % as rates rise",
    'Tokens . " I see , " he said . ( Yes . ) Go !!': 'Tokens . | " I see , " he said . | ( Yes . ) | Go !!',
    "One line\ngoes on. A blank one\n \nends it": "One line goes on . | A blank one | ends it",
    "cafe\u0301 nai\u0308ve co\u00adop": "cafe\u0301 nai\u0308ve co\u00adop",
    "nul\x00and\x07bell\ufeff": "nul and bell",
}
GERMAN = {
    "Ein Mann fährt U-Bahn im T-Shirt.": "Ein Mann fährt U-Bahn im T - Shirt .",
    "Am 15. und 16. Oktober, vom 3. bis 4. Mai.": "Am 15. und 16. Oktober , vom 3. bis 4. Mai .",
    "Er wohnt im 2. Stock. Sie ist 15. Er ist 16.": "Er wohnt im 2. Stock . | Sie ist 15 . | Er ist 16 .",
    "Das gilt z.B. hier, z. B. dort, d.h. bzw. usw. Wir sehen es.": (
        "Das gilt z.B. hier , z. B. dort , d.h. bzw. usw. | Wir sehen es ."
    ),
    "Nach Art. 5 Abs. 3 Nr. 2 gibt es Fälle dieser Art. Wenn ja, gut.": (
        "Nach Art. 5 Abs. 3 Nr. 2 gibt es Fälle dieser Art . | Wenn ja , gut ."
    ),
    "„Gut!“, sagte er. „Komm.“ Wie geht's?": "„ Gut ! “ , sagte er . | „ Komm . “ | Wie geht 's ?",
    "2000-2006 kamen 24.000 Euro, 3,5 % am 1.8.2001.": "2000-2006 kamen 24.000 Euro , 3,5 % am 1.8.2001 .",
    "Dr. Weiß wohnt in der Hauptstr. 5. Das ist Max.": "Dr. Weiß wohnt in der Hauptstr. 5 . | Das ist Max .",
    "Friedrich II. war König. 5 Mio. Euro.": "Friedrich II. war König . | 5 Mio. Euro .",
    "er ist müde. sie auch!": "er ist müde . | sie auch !",
    "Außen- und EU-Politik": "Außen - und EU - Politik",
}
FRENCH = {
    "L'homme du coin qu'il voit.": "L' homme du coin qu' il voit .",
    "L’eau d’ici, c’est l’été aujourd’hui.": "L’ eau d’ ici , c’ est l’ été aujourd’hui .",
    "Quelqu'un dit-il jusqu'à hier lorsqu'il pleut ?": "Quelqu'un dit -il jusqu'à hier lorsqu'il pleut ?",
    "A-t-il vu l'arc-en-ciel ? Qu'est-ce que ça ?": "A -t-il vu l' arc-en-ciel ? | Qu' est -ce que ça ?",
    "M. Dupont et Mme Roy, cf. p. 5, etc. Il part.": "M. Dupont et Mme Roy , cf. p. 5 , etc. | Il part .",
    "« Rien », dit-elle. «Oui.» Bien !": "« Rien » , dit -elle . | « Oui . » | Bien !",
    "J.-P. Roy, c.-à-d. 3,5 % à 14h30 en 2007-2013.": "J.-P. Roy , c.-à-d. 3,5 % à 14h30 en 2007-2013 .",
    "Celui-là, peut-être.": "Celui-là , peut-être .",
    "aux États-Unis des amis du G8": "aux États-Unis des amis du G8",
    "il est tard. on dort!": "il est tard . | on dort !",
}
EXAMPLES = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH}


EVERY_EXAMPLE = [(language, *example) for language, table in EXAMPLES.items() for example in table.items()]


def words(sentences: list[list[str]]) -> list[str]:
    return [word for sentence in sentences for word in sentence]


# Texts for which a careless expression takes quadratic time.
NASTY = [
    "a",
    "a-",
    "a.",
    "1.",
    "1/",
    "1,",
    "-",
    ".",
    "!",
    "a@",
    "www.",
    "http://!",
    "a.com/",
    "a_",
    "&",
    "<b",
]
NASTY += ["'", "re-", "l'", "a-l'", "-t-il", "No.", "15.", "etc.", ":("]
NASTY += ["e\u0301", "\u0301", "A. ", "der 15. ", "etc. ", '" ', "\n "]

languages = st.sampled_from(LANGUAGES)
# Letters of all kinds, and what rules are made of, in any order.
fragments = st.sampled_from(
    [*"aZé1.,:;!?'’\"“”„«»()[]-–/@#&*_+=<>%€…\n\t\u0301\u200d\x00\x85\u2028\ufeff😂", "n't", "'s"]
)
phrases = st.sampled_from(
    ["Mr.", "U.S.", "No.", "15.", "etc.", "z. B.", "qu'", "-t-il", "http://", "www.", "the", " ", "I"]
)
texts = st.one_of(st.text(), st.lists(st.one_of(fragments, phrases)).map("".join))


@pytest.mark.parametrize(("language", "text", "expected"), EVERY_EXAMPLE)
def test_text_is_cut_as_the_treebanks_cut_it(language: str, text: str, expected: str) -> None:
    assert " | ".join(" ".join(sentence) for sentence in tokenize(text, language)) == expected


@pytest.mark.parametrize(("language", "text", "expected"), EVERY_EXAMPLE)
def test_tokens_are_not_cut_again(language: str, text: str, expected: str) -> None:
    tokens = words(tokenize(text, language))
    assert words(tokenize(" ".join(tokens), language)) == tokens


@given(texts, languages)
def test_no_visible_character_is_lost_or_moved(text: str, language: str) -> None:
    tokens = words(tokenize(text, language))
    visible = "".join(text.split())
    for character in set(visible) - set("".join(tokens)):
        assert not character.isprintable(), f"lost {character!r}"
        visible = visible.replace(character, "")
    assert "".join(tokens) == visible


@given(texts, languages)
def test_sentences_and_tokens_are_never_empty_and_hold_no_white_space(text: str, language: str) -> None:
    sentences = tokenize(text, language)
    assert all(sentences)
    assert all(token and token.split() == [token] for token in words(sentences))


@given(texts, texts, languages)
def test_a_blank_line_separates_texts(first: str, second: str, language: str) -> None:
    assert tokenize(f"{first}\n\n{second}", language) == tokenize(first, language) + tokenize(
        second, language
    )


@given(texts, st.sampled_from(["\t", "\u00a0", "  ", " \x00 "]), languages)
def test_one_kind_of_white_space_is_like_another(text: str, space: str, language: str) -> None:
    assert tokenize(text.replace(" ", space), language) == tokenize(text, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["", " \n\n\t ", "\x00\x1f", "\ufeff\u200b"])
def test_a_text_without_words_has_no_sentences(text: str, language: str) -> None:
    assert tokenize(text, language) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("ending", ["", "n't z"])
@pytest.mark.parametrize("repeated", NASTY)
def test_a_long_line_takes_no_longer_than_its_length(repeated: str, ending: str, language: str) -> None:
    text = repeated * (100_000 // len(repeated)) + ending
    start = time.process_time()
    tokenize(text, language)
    assert time.process_time() - start < 3  # a fifth of a second; minutes where time grows with the square


def test_a_hyphen_before_an_elided_word_stays_with_the_word_before_it() -> None:
    assert tokenize("la main-d'œuvre", "fr") == [["la", "main-", "d'", "œuvre"]]


def test_an_unknown_language_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="language: expected one of en, de, fr, got 'nl'"):
        tokenize("een man", "nl")
