//! Derived values agree with what patterns mean, and shapes from strangers are checked.

use omr_errors::Mismatch;
use omr_table::{
    Column, ColumnType, Deriver, Domain, FilterShape, Fingerprints, LikeShape, MAX_CONSTANTS,
    Pattern, Schema, Segment, Shape, ShapeError, TestShape, derive, fingerprint,
};
use proptest::prelude::*;

/// Few letters, so that patterns and texts meet; cases, letters of two cases and of none, a case that changes length.
const LETTERS: &[char] = &['a', 'A', 'b', 'é', 'É', '日', 'İ', 'ß'];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(LETTERS), 0..9).prop_map(String::from_iter)
}

fn segment(most: usize) -> impl Strategy<Value = Segment> {
    let character = prop::option::weighted(0.8, prop::sample::select(LETTERS));
    prop::collection::vec(character, 0..=most).prop_map(Segment)
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let exact = (segment(5), any::<bool>()).prop_map(|(prefix, fold)| {
        let (infix, suffix) = (Segment::default(), Segment::default());
        Pattern {
            exact: true,
            prefix,
            infix,
            suffix,
            fold,
        }
    });
    let parts = (segment(2), segment(2), segment(2), any::<bool>()).prop_map(
        |(prefix, infix, suffix, fold)| Pattern {
            exact: false,
            prefix,
            infix,
            suffix,
            fold,
        },
    );
    prop_oneof![1 => exact, 3 => parts]
}

/// Whether a derived value of the text is the pattern's, as the server finds out.
fn matches_derived(pattern: &Pattern, text: &str, max_chars: usize) -> bool {
    let (shape, own) = (pattern.shape(), pattern.derived());
    (0..shape.places(max_chars)).any(|place| derive(&shape, text, place) == Some(own.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_text_has_the_pattern_if_it_derives_its_value(pattern in pattern(), text in text()) {
        let expected = pattern.matches(&text);
        prop_assert_eq!(matches_derived(&pattern, &text, 9), expected);
        prop_assert_eq!(matches_derived(&pattern, &text, text.chars().count()), expected);
    }

    /// Patterns cut from the text itself: most have to match.
    #[test]
    fn patterns_of_the_text_match(text in text(), cuts in any::<[usize; 4]>(), fold in any::<bool>(), blank in 0_usize..9) {
        let characters: Vec<Option<char>> =
            text.chars().enumerate().map(|(place, found)| Some(found).filter(|_| place != blank)).collect();
        let mut cuts = cuts.map(|cut| cut % (characters.len() + 1));
        cuts.sort_unstable();
        let segment = |from: usize, to: usize| Segment(characters[from..to].to_vec());
        let (prefix, infix, suffix) =
            (segment(0, cuts[0]), segment(cuts[1], cuts[2]), segment(cuts[3], characters.len()));
        let pattern = Pattern { exact: false, prefix, infix, suffix, fold };
        prop_assert!(pattern.matches(&text) && matches_derived(&pattern, &text, 9));
    }

    #[test]
    fn folded_patterns_match_both_cases(text in text()) {
        let prefix = Segment(text.chars().map(Some).collect());
        let (infix, suffix) = (Segment::default(), Segment::default());
        let pattern = Pattern { exact: true, prefix, infix, suffix, fold: true };
        for changed in [text.to_ascii_uppercase(), text.replace('É', "é"), text.replace('é', "É")] {
            prop_assert!(pattern.matches(&changed) && matches_derived(&pattern, &changed, 9));
        }
    }

    #[test]
    fn a_deriver_keeps_nothing_of_the_text_before(pattern in pattern(), texts in prop::collection::vec(text(), 2..5)) {
        let shape = pattern.shape();
        let mut deriver = Deriver::new(&shape);
        for text in &texts {
            deriver.read(text);
            for place in 0..12 {
                prop_assert_eq!(deriver.at(place).map(<[u8]>::to_vec), derive(&shape, text, place));
            }
        }
    }
}

fn like(exact: bool, prefix: &[bool], infix: &[bool], suffix: &[bool]) -> LikeShape {
    let (prefix, infix, suffix) = (prefix.to_vec(), infix.to_vec(), suffix.to_vec());
    LikeShape {
        exact,
        prefix,
        infix,
        suffix,
        fold: false,
    }
}

#[test]
fn places_of_an_infix() {
    let shape = like(false, &[true, false], &[true, true], &[true]);
    assert_eq!(
        (shape.places(4), shape.places(5), shape.places(64)),
        (0, 1, 60)
    );
    assert_eq!(like(false, &[true], &[], &[true]).places(64), 1);
    assert_eq!(derive(&shape, "abcde", 0), Some(b"acde".to_vec()));
    assert_eq!(derive(&shape, "abxcde", 1), Some(b"acde".to_vec()));
    assert_eq!(derive(&shape, "abxcde", 2), None);
    assert_eq!(derive(&shape, "abcd", 0), None);
    assert_eq!(
        derive(&like(true, &[true, true], &[], &[]), "éa", 0),
        Some("éa".into())
    );
    assert_eq!(derive(&like(true, &[true, true], &[], &[]), "éaa", 0), None);
}

#[test]
fn fingerprints_are_keyed_and_of_60_bits() {
    let (salt, other) = ([1; 16], [2; 16]);
    let of = Fingerprints::new(&salt);
    let mut seen = 0;
    for index in 0..2000_u64 {
        let print = of.of(&index.to_le_bytes());
        assert_eq!(print, fingerprint(&salt, &index.to_le_bytes()));
        assert_ne!(print, fingerprint(&other, &index.to_le_bytes()));
        seen |= print;
    }
    assert_eq!(seen, (1 << 60) - 1);
    // Tables keep what has been imported: the function never changes.
    assert_eq!(fingerprint(&[0; 16], b"abc"), FROZEN);
}

const FROZEN: u64 = 48_906_600_039_917_217;

fn schema() -> Schema {
    let column = |name: &str, kind| {
        let domain = Some(Domain::new(0, 9)).filter(|_| kind == ColumnType::Integer);
        Column {
            name: name.into(),
            kind,
            nullable: true,
            domain,
        }
    };
    let columns = vec![
        column("n", ColumnType::Integer),
        column("t", ColumnType::Text { max_bytes: 4 }),
    ];
    Schema {
        name: "a".into(),
        rows: 1,
        salt: [0; 16],
        columns,
    }
}

fn leaf(column: usize, test: TestShape) -> FilterShape {
    FilterShape::Leaf {
        column,
        test,
        negated: false,
    }
}

#[test]
fn shapes_of_strangers_are_checked() {
    let check = |filter: FilterShape| {
        Shape {
            select: vec![1, 0],
            filter,
        }
        .check(&schema())
    };
    let number = || leaf(0, TestShape::Ordinals(1));
    let kind = |column: usize| schema().columns[column].kind;
    for (filter, expected) in [
        (number(), Ok(())),
        (
            leaf(1, TestShape::Like(like(false, &[true], &[true; 3], &[]))),
            Ok(()),
        ),
        (
            leaf(2, TestShape::Null),
            Err(ShapeError::NoColumn(Mismatch::new(2, 2))),
        ),
        (
            leaf(1, TestShape::Ordinals(1)),
            Err(ShapeError::WrongType {
                column: 1,
                kind: kind(1),
            }),
        ),
        (
            leaf(0, TestShape::Texts(1)),
            Err(ShapeError::WrongType {
                column: 0,
                kind: kind(0),
            }),
        ),
        (
            leaf(0, TestShape::Ordinals(0)),
            Err(ShapeError::Constants(Mismatch::new(MAX_CONSTANTS, 0))),
        ),
        (
            leaf(1, TestShape::Texts(usize::MAX)),
            Err(ShapeError::Constants(Mismatch::new(
                MAX_CONSTANTS,
                usize::MAX,
            ))),
        ),
        (
            leaf(
                0,
                TestShape::Range {
                    low: false,
                    high: false,
                },
            ),
            Err(ShapeError::NoEnds),
        ),
        (
            leaf(1, TestShape::Like(like(true, &[true], &[], &[true]))),
            Err(ShapeError::ExactWithParts),
        ),
        (
            leaf(
                1,
                TestShape::Like(like(false, &[true; 3], &[], &[false; 2])),
            ),
            Err(ShapeError::PatternTooLong(Mismatch::new(4, 5))),
        ),
        (
            FilterShape::And(vec![number()]),
            Err(ShapeError::TooFewParts(1)),
        ),
        (FilterShape::Or(vec![]), Err(ShapeError::TooFewParts(0))),
        (FilterShape::Or(vec![number(); 64]), Ok(())),
        (
            FilterShape::Or(vec![number(); 65]),
            Err(ShapeError::TooManyLeaves(64)),
        ),
    ] {
        assert_eq!(check(filter.clone()), expected, "{filter:?}");
    }
    let deep = |levels: usize| {
        (0..levels).fold(number(), |inner, _| FilterShape::And(vec![inner, number()]))
    };
    assert_eq!(check(deep(32)), Ok(()));
    assert_eq!(check(deep(33)), Err(ShapeError::TooDeep(32)));
    let select = |select: &[usize]| {
        Shape {
            select: select.to_vec(),
            filter: number(),
        }
        .check(&schema())
    };
    assert_eq!(select(&[]), Err(ShapeError::NothingSelected));
    assert_eq!(select(&[0, 0]), Err(ShapeError::SelectedTwice(0)));
    assert_eq!(
        select(&[0, 7]),
        Err(ShapeError::NoColumn(Mismatch::new(2, 7)))
    );
}

#[test]
fn shapes_of_strangers_are_shown_whatever_they_say() {
    let hostile = leaf(9, TestShape::Texts(usize::MAX));
    assert_eq!(
        hostile.render(&schema()),
        format!("#9 IN ({} x ?)", usize::MAX)
    );
}
