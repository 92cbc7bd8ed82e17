//! Planted records: one that helps, one that does nothing and one that harms, by ten points of success or of
//! the gate's score, are given to an agent whose skill is known. Does the ledger tell them apart, when, and how
//! often is it wrong?
//!
//! Real sessions, a real store, the real ledger; only the agent is scripted. Half of the runs are held out. The
//! ledger is looked at after every tenth run, and a class that is wrong at any look counts, also if it is taken
//! back later.

mod campaign;
mod design;
mod report;

use learnkit::BoxError;
use learnkit::ledger::Class;

use self::campaign::Campaign;
use self::design::{DESIGNS, Design, PLANTED};

/// Within so many runs the classes have to be right.
const WITHIN: usize = 200;
/// The ledger is looked at after so many runs, and again.
const STEP: usize = 10;
/// Looks that are shown.
const SHOWN: [usize; 6] = [50, 100, 150, 200, 400, 800];

/// What is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) seeds: usize,
}

impl Options {
    /// Reads them.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, BoxError> {
        let mut options = Self { json: false, seeds: 20 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--json" => options.json = true,
                "--seeds" => options.seeds = words.next().ok_or("`--seeds` needs a value")?.parse()?,
                other => return Err(format!("`planted` has no option `{other}`; see --help").into()),
            }
        }
        if options.seeds == 0 {
            return Err("--seeds must be at least 1".into());
        }
        Ok(options)
    }
}

/// The looks at one campaign, the first after `STEP` runs.
#[derive(Debug)]
struct Looks {
    planted: Class,
    seen: Vec<Class>,
}

impl Looks {
    fn at(&self, runs: usize) -> Option<Class> {
        self.seen.get((runs / STEP).checked_sub(1)?).copied()
    }

    fn was_ever_wrong(&self) -> bool {
        self.seen.iter().any(|class| *class != Class::NotYet && *class != self.planted)
    }
}

/// Plays every design and prints what came of it; fails where what must hold does not.
pub(crate) async fn run(options: Options) -> Result<(), BoxError> {
    let mut results = Vec::new();
    for design in &DESIGNS {
        eprintln!(
            "{}: {} seeds of {} runs for each of {} records",
            design.name,
            options.seeds,
            design.runs,
            PLANTED.len()
        );
        results.push((design, play(design, options.seeds, design.runs).await?));
    }
    report::print(&results, options);
    Ok(())
}

async fn play(design: &Design, seeds: usize, runs: usize) -> Result<Vec<Looks>, BoxError> {
    let mut looks = Vec::new();
    for seed in 0..seeds {
        for planted in PLANTED {
            let mut campaign = Campaign::begin(design, planted, seed).await?;
            let mut seen = Vec::new();
            while seen.len() * STEP < runs {
                for _ in 0..STEP {
                    campaign.run().await?;
                }
                seen.push(campaign.class().await?);
            }
            looks.push(Looks { planted, seen });
        }
    }
    Ok(looks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn planted_records_are_told_apart_within_200_runs_and_never_before_it_can_be_known() {
        let looks = play(&DESIGNS[0], 4, WITHIN).await.unwrap();
        let right = looks.iter().filter(|looks| looks.at(WITHIN) == Some(looks.planted)).count();
        let wrong = looks.iter().filter(|looks| looks.was_ever_wrong()).count();
        assert!(right + 1 >= looks.len() && wrong == 0, "{right} right and {wrong} wrong of {looks:?}");
        let early = looks.iter().filter(|looks| looks.at(30) != Some(Class::NotYet)).count();
        assert_eq!(early, 0, "thirty runs cannot tell: {looks:?}");
    }

    #[tokio::test]
    async fn a_verdict_alone_says_not_yet_rather_than_something_wrong() {
        let looks = play(&DESIGNS[1], 2, 100).await.unwrap();
        assert!(looks.iter().all(|looks| !looks.was_ever_wrong()), "{looks:?}");
        assert!(looks.iter().any(|looks| looks.at(100) == Some(Class::NotYet)), "{looks:?}");
    }

    #[test]
    fn options_are_read_and_wrong_ones_named() {
        assert_eq!(Options::parse(&["--json", "--seeds", "3"]).unwrap(), Options { json: true, seeds: 3 });
        let error = |words: &[&str]| Options::parse(words).unwrap_err().to_string();
        assert_eq!(error(&["--seeds"]), "`--seeds` needs a value");
        assert_eq!(error(&["--seeds", "0"]), "--seeds must be at least 1");
        assert_eq!(error(&["--seed", "1"]), "`planted` has no option `--seed`; see --help");
    }
}
