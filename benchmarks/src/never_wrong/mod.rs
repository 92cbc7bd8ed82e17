//! Never wrong: what somebody else's task, or the same words in another world, makes LearnKit replay.
//!
//! The procedure of one task is taught, another task is asked for. Beside these, right repeats are asked for:
//! a memory that replays nothing would be never wrong and of no use.

mod ask;
mod cases;
mod report;

use learnkit::BoxError;
use learnkit::config::ReplayTrust;

use self::ask::{Asked, ask};
use self::cases::{Case, Lessons};

/// The settings that are asked.
const TRUSTS: [ReplayTrust; 2] = [ReplayTrust::Careful, ReplayTrust::ToolOutcome];

/// What became of one case.
struct Result {
    group: &'static str,
    id: String,
    lessons: Lessons,
    trust: ReplayTrust,
    /// Whether the procedure that was taught reads nothing of its world.
    blind: bool,
    asked: Asked,
}

/// Asks and prints.
pub(crate) async fn run(as_json: bool) -> std::result::Result<(), BoxError> {
    let cases = cases::all()?;
    eprintln!("asking {} cases", cases.len());
    report::print(&results(&cases).await?, as_json);
    Ok(())
}

async fn results(cases: &[Case]) -> std::result::Result<Vec<Result>, BoxError> {
    let mut results = Vec::new();
    for case in cases {
        for trust in TRUSTS {
            for lessons in [Lessons::Once, Lessons::Twice, Lessons::Reported] {
                let asked = ask(case, lessons, trust).await?;
                let (group, id, blind) = (case.group, case.id.clone(), case.is_blind());
                results.push(Result { group, id, lessons, trust, blind, asked });
            }
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(results: &[Result], trust: ReplayTrust, what: impl Fn(&Result) -> bool) -> usize {
        results.iter().filter(|result| result.trust == trust && what(result)).count()
    }

    /// All of the small groups, and every twentieth of the large ones.
    fn some() -> Vec<Case> {
        let is_large = |case: &Case| case.group.starts_with("telecom") || case.group.starts_with("pair");
        let kept = cases::all().unwrap().into_iter().enumerate();
        kept.filter(|(index, case)| !is_large(case) || index % 20 == 0).map(|(_, case)| case).collect()
    }

    #[tokio::test]
    async fn no_other_task_and_no_other_world_is_replayed_under_careful_and_right_repeats_are() {
        let results = results(&some()).await.unwrap();
        let is_wrong = |result: &Result| matches!(result.asked, Asked::Wrong(_));
        assert_eq!(count(&results, ReplayTrust::Careful, is_wrong), 0);
        let is_right = |result: &Result| result.asked == Asked::Right;
        assert!(count(&results, ReplayTrust::Careful, is_right) > 0);
        // Where nothing of the world is read nothing tells it from another one; the count shows that the cases bite.
        assert!(count(&results, ReplayTrust::ToolOutcome, |result| is_wrong(result) && result.blind) > 0);
    }
}
