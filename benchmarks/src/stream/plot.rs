//! The curves as a picture: calls saved against wrong replays per 100 runs.

use std::fmt::Write as _;

use super::curve::Curve;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 560.0;
/// Left and bottom of the axes.
const MARGIN: f64 = 60.0;
/// Room for the names.
const LEGEND: f64 = 260.0;
const COLOURS: [&str; 8] = ["#1b6ca8", "#c0392b", "#1e8449", "#8e44ad", "#b9770e", "#117a65", "#7b241c", "#2c3e50"];

/// An SVG: LearnKit with thick lines, gates with thin and broken ones.
pub(crate) fn svg(learnkit: &[Curve], gates: &[Curve]) -> String {
    let axes = Axes::of(learnkit.iter().chain(gates));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    axes.draw(&mut svg);
    let thick = learnkit.iter().map(|curve| (curve, "stroke-width=\"2.5\""));
    let thin = gates.iter().map(|curve| (curve, "stroke-width=\"1\" stroke-dasharray=\"4 3\""));
    for (index, (curve, style)) in thick.chain(thin).enumerate() {
        axes.line(&mut svg, curve, index, style);
    }
    svg.push_str("</svg>\n");
    svg
}

/// The ends of both axes.
struct Axes {
    saved: f64,
    wrong: f64,
}

impl Axes {
    fn of<'c>(curves: impl Iterator<Item = &'c Curve>) -> Self {
        let points: Vec<_> = curves.flat_map(|curve| curve.points().to_vec()).collect();
        let most = |values: &mut dyn Iterator<Item = f64>| (values.fold(1.0, f64::max) / 10.0).ceil() * 10.0;
        Self {
            saved: most(&mut points.iter().map(|point| point.saved)),
            wrong: most(&mut points.iter().map(|point| point.wrong)),
        }
    }

    fn x(&self, saved: f64) -> f64 {
        MARGIN + saved / self.saved * (WIDTH - LEGEND - MARGIN)
    }

    fn y(&self, wrong: f64) -> f64 {
        HEIGHT - MARGIN - wrong / self.wrong * (HEIGHT - 2.0 * MARGIN)
    }

    fn draw(&self, svg: &mut String) {
        let (left, bottom) = (self.x(0.0), self.y(0.0));
        let (right, top) = (self.x(self.saved), self.y(self.wrong));
        let _ = writeln!(svg, "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>");
        for tenth in 0..=10 {
            let share = f64::from(tenth) / 10.0;
            let (saved, wrong) = (self.saved * share, self.wrong * share);
            let (x, y) = (self.x(saved), self.y(wrong));
            let _ =
                writeln!(svg, "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{saved:.0}</text>", bottom + 18.0);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{y:.1}\" text-anchor=\"end\">{wrong:.0}</text>", left - 8.0);
        }
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"{}\">planning calls saved, %</text>", HEIGHT - 16.0);
        let _ = writeln!(svg, "<text x=\"16\" y=\"{}\">wrong replays per 100 runs</text>", top - 16.0);
    }

    fn line(&self, svg: &mut String, curve: &Curve, index: usize, style: &str) {
        let colour = COLOURS.get(index % COLOURS.len()).copied().unwrap_or("black");
        let place = |saved, wrong| format!("{:.1},{:.1}", self.x(saved), self.y(wrong));
        let points: Vec<String> = curve.points().iter().map(|point| place(point.saved, point.wrong)).collect();
        let points = points.join(" ");
        let _ = writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" {style}/>");
        let y = MARGIN + 20.0 * f64::from(u32::try_from(index).unwrap_or_default());
        let x = WIDTH - LEGEND + 20.0;
        let _ = writeln!(svg, "<path d=\"M{x} {}h30\" stroke=\"{colour}\" {style}/>", y - 4.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{}</text>", x + 38.0, curve.name);
    }
}
