//! The words that statements are read by. English first; what is missing here keeps two statements apart or
//! together as they were written, and loses nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

/// What negates by itself: English, German, Dutch, French, Spanish, Italian, Portuguese, Russian, Polish, Arabic,
/// Hindi, Greek, Turkish, Swedish.
static NEGATIONS: List = List::new(|| {
    words(
        "\
    not never no nicht nie niemals niet nooit pas jamais non não nunca mai не нет никогда nie لا ليس नहीं δεν değil inte \
    aldrig",
    )
});

/// What negates and hides a word: what it stands for is what is left.
const HIDING: &[(&str, &str)] = &[
    ("cannot", "can"),
    ("can't", "can"),
    ("won't", "will"),
    ("shan't", "shall"),
    ("without", "with"),
    ("kein", "ein"),
    ("keine", "eine"),
    ("keinen", "einen"),
    ("keinem", "einem"),
    ("keiner", "einer"),
    ("geen", "een"),
    ("dont", "do"),
    ("doesnt", "does"),
    ("didnt", "did"),
    ("isnt", "is"),
    ("arent", "are"),
    ("wasnt", "was"),
];

/// What a negation needs as a helper: `does not support` is `supports`.
static HELPERS: List = List::new(|| words("do does did"));

/// Words that are names where they stand in capitals.
static NAMES_IN_CAPITALS: List = List::new(|| words("us it who or in me as am so we can may he at be do"));

static ARTICLES: List =
    List::new(|| words("the a an this that these those our my your his her its their every each all"));

/// What follows a name: `Room 12 is …`.
static COPULAS: List = List::new(|| {
    words(
        "\
    is are was were has have had can may must might will would shall should could does do did needs need runs run \
    cannot ist sind hat haben est sont es son tiene",
    )
});

/// What a value follows.
static INTRODUCERS: List = List::new(|| {
    words(
        "\
    is are was were be has have had take takes took cost costs last lasts need needs allow allows equal equals contain \
    contains hold holds get gets start starts end ends open opens close closes expire expires begin begins to at by than \
    only about under over on until till after before within up max maximum min minimum least most limit timeout price \
    total count deadline budget quota seat seats serve serves roughly around approximately exactly nearly hat haben ist \
    sind dauert kostet um bis ab am a est coûte dure à es cuesta dura tiene 有 是 为 為 到 约 約 达 達 要 在 至 は が",
    )
});

static SIGNS: List = List::new(|| words(": = < > ≤ ≥ ~ ± ≈ $ € £ ¥ ₹ #"));

/// Units beside those of the tasks' own list.
static UNITS: List = List::new(|| {
    words(
        "\
    dollar dollars euro euros cent cents usd eur gbp chf jpy am pm ms km/h mph mbps gbps kbps tage tag stunden stunde \
    minuten sekunden wochen monate jahre jours jour heures heure semaines mois ans días día horas hora semanas meses años \
    дней дня день часов часа час минут минуты недель месяцев лет рублей % $ € £ ¥ ₹ ° 天 日 小 分 秒 年 月 周 元 层 個 个 次 人 岁 円 階 \
    时 時 원 명",
    )
});

static RATES: List = List::new(|| words("per a an each every / pro par por в"));

static BEFORE_YEARS: List = List::new(|| words("in of for since im en de в с"));

static MONTHS: List = List::new(|| {
    words(
        "\
    january february march april may june july august september october november december jan feb mar apr jun jul aug \
    sep sept oct nov dec",
    )
});

static COUNT_WORDS: List = List::new(|| {
    words(
        "\
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty forty \
    fifty sixty seventy eighty ninety hundred thousand million billion",
    )
});

const CJK_DIGITS: &str = "〇零一二三四五六七八九十百千万億亿两兩";
const CJK_NEGATIONS: &str = "不没沒未";
/// What ends or parts a sentence, and what quotes; it says nothing by itself.
const SENTENCE_MARKS: &str = ".,;!…。，、；！\"'“”‘’«»";

/// A list of words, looked through for each word of a statement.
type List = LazyLock<HashSet<&'static str>>;

fn words(list: &'static str) -> HashSet<&'static str> {
    list.split_whitespace().collect()
}

pub(super) fn is_negation(word: &str) -> bool {
    NEGATIONS.contains(word)
}

/// What a word stands for once its negation is taken out of it.
pub(super) fn hidden(word: &str) -> Option<String> {
    let listed = HIDING.iter().find(|(own, _)| *own == word).map(|(_, left)| (*left).to_owned());
    listed.or_else(|| word.strip_suffix("n't").filter(|left| !left.is_empty()).map(str::to_owned))
}

pub(super) fn is_name_in_capitals(word: &str) -> bool {
    NAMES_IN_CAPITALS.contains(word)
}

pub(super) fn is_helper(word: &str) -> bool {
    HELPERS.contains(word)
}

pub(super) fn is_article(word: &str) -> bool {
    ARTICLES.contains(word)
}

pub(super) fn is_copula(word: &str) -> bool {
    COPULAS.contains(word)
}

pub(super) fn is_introducer(word: &str) -> bool {
    INTRODUCERS.contains(word) || is_introducing_sign(word)
}

pub(super) fn is_introducing_sign(word: &str) -> bool {
    SIGNS.contains(word)
}

pub(super) fn is_own_unit(word: &str) -> bool {
    UNITS.contains(word)
}

pub(super) fn is_month(word: &str) -> bool {
    MONTHS.contains(word)
}

pub(super) fn is_count_word(word: &str) -> bool {
    COUNT_WORDS.contains(word)
}

pub(super) fn is_cjk_digit(char: char) -> bool {
    CJK_DIGITS.contains(char)
}

pub(super) fn is_cjk_negation(char: char) -> bool {
    CJK_NEGATIONS.contains(char)
}

pub(super) fn is_sentence_mark(mark: &str) -> bool {
    mark.chars().all(|char| SENTENCE_MARKS.contains(char))
}

/// Before which a unit is one without a number: `per minute`, `a day`.
pub(super) fn is_rate(word: &str) -> bool {
    RATES.contains(word)
}

/// Before which a number of four digits is a year.
pub(super) fn is_before_year(word: &str) -> bool {
    BEFORE_YEARS.contains(word)
}
