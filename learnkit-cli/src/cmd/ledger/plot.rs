//! The ledger as a picture: calls saved by day, and the effect of each record with its range. Plain SVG.

use std::fmt::Write as _;

use learnkit::ledger::{Class, Day, EFFECT_POINTS, Ledger, RecordAccount};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 30.0;
/// The curve of savings.
const TOP: f64 = 50.0;
const BOTTOM: f64 = 250.0;
/// The first record, and the next below it.
const RECORDS: f64 = 330.0;
const LINE: f64 = 22.0;
/// The names of records stand left of their ranges.
const MIDDLE: f64 = 370.0;
/// So many records are drawn.
const MOST: usize = 40;

/// Draws a ledger; empty parts say so.
pub(super) fn svg(ledger: &Ledger) -> String {
    let drawn: Vec<&RecordAccount> =
        ledger.records.iter().filter(|record| record.effect.points.is_some()).take(MOST).collect();
    let height = RECORDS + LINE * count(drawn.len()) + 60.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    text(&mut svg, LEFT, 24.0, "start", "Planner calls saved, summed up by day (UTC)");
    curve(&mut svg, &ledger.days);
    text(
        &mut svg,
        LEFT,
        RECORDS - 30.0,
        "start",
        "Effect of each record in points of 100, runs with it beside runs held out",
    );
    if drawn.is_empty() {
        text(&mut svg, LEFT, RECORDS, "start", "no record had a run that was held out; set holdout_rate");
    } else {
        effects(&mut svg, &drawn);
    }
    svg.push_str("</svg>\n");
    svg
}

fn curve(svg: &mut String, days: &[Day]) {
    let known = days.iter().any(|day| day.planner_calls.saved.is_some());
    if !known {
        text(svg, LEFT, TOP + 20.0, "start", "nothing is known of what was saved");
        return;
    }
    let mut sum = 0.0;
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(days.iter().map(|day| {
            sum += day.planner_calls.saved.unwrap_or(0.0);
            sum
        }))
        .collect();
    let low = sums.iter().copied().fold(0.0, f64::min);
    let high = sums.iter().copied().fold(low + 1.0, f64::max);
    let y = |saved: f64| BOTTOM - (saved - low) / (high - low) * (BOTTOM - TOP);
    let step = (RIGHT - LEFT) / count(sums.len() - 1);
    let points: Vec<String> =
        sums.iter().enumerate().map(|(at, saved)| format!("{:.1},{:.1}", LEFT + step * count(at), y(*saved))).collect();
    let _ = writeln!(svg, "<path d=\"M{LEFT} {TOP}V{BOTTOM}\" stroke=\"black\"/>");
    let _ = writeln!(svg, "<path d=\"M{LEFT} {:.1}H{RIGHT}\" stroke=\"#999\" stroke-dasharray=\"3 3\"/>", y(0.0));
    let points = points.join(" ");
    let _ = writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"#1b6ca8\" stroke-width=\"2.5\"/>");
    for value in [low, high] {
        text(svg, LEFT - 8.0, y(value) + 4.0, "end", &format!("{value:.0}"));
    }
    if let (Some(first), Some(last)) = (days.first(), days.last()) {
        text(svg, LEFT, BOTTOM + 18.0, "start", &first.date.to_string());
        text(svg, RIGHT, BOTTOM + 18.0, "end", &last.date.to_string());
    }
}

fn effects(svg: &mut String, records: &[&RecordAccount]) {
    let x = |points: f64| f64::midpoint(MIDDLE, RIGHT) + points.clamp(-50.0, 50.0) / 100.0 * (RIGHT - MIDDLE);
    let bottom = RECORDS + LINE * count(records.len());
    for (points, dash) in [(0.0, ""), (-EFFECT_POINTS, "2 4"), (EFFECT_POINTS, "2 4")] {
        let (x, top) = (x(points), RECORDS - 18.0);
        let _ = writeln!(svg, "<path d=\"M{x:.1} {top}V{bottom}\" stroke=\"#999\" stroke-dasharray=\"{dash}\"/>");
        text(svg, x, bottom + 16.0, "middle", &format!("{points:+.0}"));
    }
    for (at, record) in records.iter().enumerate() {
        let Some(points) = record.effect.points else { continue };
        let (y, colour) = (RECORDS + LINE * count(at), colour(record.effect.class));
        let name: String = record.id.as_str().chars().take(22).collect();
        text(svg, LEFT, y + 4.0, "start", &format!("{name}  {}", record.effect.class));
        let (low, high, middle) = (x(points.low), x(points.high), x(points.estimate));
        let _ = writeln!(svg, "<path d=\"M{low:.1} {y}H{high:.1}\" stroke=\"{colour}\" stroke-width=\"2\"/>");
        let _ = writeln!(svg, "<circle cx=\"{middle:.1}\" cy=\"{y}\" r=\"4\" fill=\"{colour}\"/>");
    }
}

fn colour(class: Class) -> &'static str {
    match class {
        Class::Helpful => "#1e8449",
        Class::Harmful => "#c0392b",
        Class::Neutral => "#1b6ca8",
        Class::NotYet => "#7f8c8d",
    }
}

/// Ids may hold any character, also one that means something in XML.
fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn count(len: usize) -> f64 {
    f64::from(u32::try_from(len).unwrap_or(u32::MAX))
}
