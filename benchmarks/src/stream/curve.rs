//! Curves: what is saved against what is wrong, at several hold-out shares, and two of them at one saving.

use serde_json::{Value, json};

use super::score::Summary;

/// One hold-out share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) holdout: f64,
    pub(crate) saved: f64,
    pub(crate) wrong: f64,
}

/// The points of one setting or gate.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    /// By savings, from nothing on.
    points: Vec<Point>,
}

impl Curve {
    /// Of a summary for each hold-out share; where every run skips memory nothing is saved and nothing wrong.
    pub(crate) fn of<'s>(name: &'static str, summaries: impl Iterator<Item = (f64, &'s Summary)>) -> Self {
        let point = |(holdout, summary): (f64, &Summary)| Point {
            holdout,
            saved: summary.calls_saved_pct.mean,
            wrong: summary.wrong_per_100.mean,
        };
        let mut points: Vec<Point> = summaries.map(point).collect();
        points.push(Point { holdout: 1.0, saved: 0.0, wrong: 0.0 });
        points.sort_by(|a, b| a.saved.total_cmp(&b.saved));
        Self { name, points }
    }

    /// The points, by savings.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }

    /// The most that is saved.
    pub(crate) fn most_saved(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.saved)
    }

    /// What is wrong where so much is saved, linear between two points; absent beyond the curve.
    pub(crate) fn wrong_at(&self, saved: f64) -> Option<f64> {
        let mut pairs = self.points.iter().zip(self.points.iter().skip(1));
        let (below, above) = pairs.find(|(below, above)| below.saved <= saved && saved <= above.saved)?;
        let width = above.saved - below.saved;
        let share = if width > 0.0 { (saved - below.saved) / width } else { 0.0 };
        Some(below.wrong + share * (above.wrong - below.wrong))
    }

    pub(crate) fn as_json(&self) -> Value {
        let point = |point: &Point| json!({"holdout": point.holdout, "saved": point.saved, "wrong": point.wrong});
        self.points.iter().map(point).collect()
    }
}

/// LearnKit and a gate where both save the same.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) setting: &'static str,
    pub(crate) gate: &'static str,
    /// Calls saved, in percent.
    pub(crate) saved: f64,
    pub(crate) learnkit_wrong: f64,
    pub(crate) gate_wrong: f64,
}

impl Comparison {
    /// At the most that both save; absent where one of them saves nothing.
    pub(crate) fn of(learnkit: &Curve, gate: &Curve) -> Option<Self> {
        let saved = learnkit.most_saved().min(gate.most_saved());
        if saved <= 0.0 {
            return None;
        }
        Some(Self {
            setting: learnkit.name,
            gate: gate.name,
            saved,
            learnkit_wrong: learnkit.wrong_at(saved)?,
            gate_wrong: gate.wrong_at(saved)?,
        })
    }

    /// Whether LearnKit has fewer wrong replays.
    pub(crate) fn is_fewer(&self) -> bool {
        self.learnkit_wrong < self.gate_wrong
    }

    /// Whether neither has any.
    pub(crate) fn is_clean(&self) -> bool {
        self.learnkit_wrong == 0.0 && self.gate_wrong == 0.0
    }

    pub(crate) fn as_json(&self) -> Value {
        json!({
            "setting": self.setting, "gate": self.gate, "calls_saved_pct": self.saved,
            "learnkit_wrong_per_100": self.learnkit_wrong, "gate_wrong_per_100": self.gate_wrong,
            "fewer": self.is_fewer(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &'static str, points: &[(f64, f64)]) -> Curve {
        let point = |&(saved, wrong): &(f64, f64)| Point { holdout: 0.0, saved, wrong };
        Curve { name, points: points.iter().map(point).collect() }
    }

    #[test]
    fn a_curve_is_linear_between_points_and_ends_with_the_last() {
        let gate = curve("gate", &[(0.0, 0.0), (10.0, 4.0), (30.0, 20.0)]);
        assert_eq!(gate.wrong_at(0.0), Some(0.0));
        assert_eq!(gate.wrong_at(20.0), Some(12.0));
        assert_eq!(gate.wrong_at(30.5), None);
    }

    #[test]
    fn a_comparison_is_made_where_both_save_the_same() {
        let gate = curve("gate", &[(0.0, 0.0), (30.0, 20.0)]);
        let learnkit = curve("learnkit", &[(0.0, 0.0), (15.0, 4.0)]);
        let comparison = Comparison::of(&learnkit, &gate).unwrap();
        assert_eq!((comparison.saved, comparison.learnkit_wrong, comparison.gate_wrong), (15.0, 4.0, 10.0));
        assert!(comparison.is_fewer());
        assert!(Comparison::of(&learnkit, &curve("never", &[(0.0, 0.0)])).is_none());
    }
}
