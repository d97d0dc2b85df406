//! The summary below the states of one minion.

use crate::{Color, Palette, RenderOptions, python};

use halite_proto::Value;

/// The longest label, which sets the width of the summary.
const LABEL_WIDTH: usize = "Succeeded".len();

/// How many states had which result, and how long they took.
#[derive(Default)]
pub(super) struct Counts {
    succeeded: Option<usize>,
    failed: Option<usize>,
    not_run: Option<usize>,
    /// Results that are neither true, false nor null.
    other: Vec<(Value, usize)>,
    warnings: Option<usize>,
    /// States with changes.
    pub(super) changed: usize,
    /// Milliseconds of the states that ran one after another.
    pub(super) serial_ms: f64,
    /// Milliseconds of the longest state that ran beside others.
    pub(super) parallel_ms: f64,
}

impl Counts {
    pub(super) fn add_result(&mut self, result: &Value, count: usize) {
        let add = |to: &mut Option<usize>| *to = Some(to.unwrap_or(0) + count);
        if result.is_nil() {
            add(&mut self.not_run);
        } else if python::equal(result, &Value::Bool(true)) {
            add(&mut self.succeeded);
        } else if python::equal(result, &Value::Bool(false)) {
            add(&mut self.failed);
        } else if let Some((_, known)) = self.other.iter_mut().find(|(value, _)| value == result) {
            *known += count;
        } else {
            self.other.push((result.clone(), count));
        }
    }

    pub(super) fn add_warning(&mut self) {
        self.warnings = Some(self.warnings.unwrap_or(0) + 1);
    }

    /// The lines of the summary.
    pub(super) fn lines(&self, id: &str, options: &RenderOptions) -> Vec<String> {
        let palette = Palette::new(options.color);
        let paint =
            |color, text: String| format!("{}{text}{}", palette.start(color), palette.end());
        let width = LABEL_WIDTH + 2 + self.digits();
        let dashes = "-".repeat(width);
        let count =
            |label: &str, count: &str| format!("{label}: {count:>0$}", width - label.len() - 2);

        let mut lines = vec![paint(Color::Cyan, format!("\nSummary for {id}\n{dashes}"))];
        lines.push(self.succeeded_line(palette, &count));
        let failed = self.failed.unwrap_or(0);
        let failed_color = if failed > 0 { Color::Red } else { Color::Cyan };
        lines.push(paint(failed_color, count("Failed", &failed.to_string())));
        if options.highstate.percentages && self.total() > 0 {
            let share = |part| count_share(part, self.total());
            lines.push(paint(Color::Green, count("Success %", &share(self.good()))));
            lines.push(paint(failed_color, count("Failure %", &share(failed))));
        }
        if let Some(warnings @ 1..) = self.warnings {
            lines.push(paint(
                Color::LightRed,
                count("Warnings", &warnings.to_string()),
            ));
        }
        let total = format!(
            "{dashes}\nTotal states run: {:>1$}",
            self.total(),
            width - 7
        );
        lines.push(paint(Color::Cyan, total));
        if options.highstate.profile {
            lines.push(paint(Color::Cyan, self.run_time(width)));
        }
        lines
    }

    fn succeeded_line(&self, palette: Palette, count: &dyn Fn(&str, &str) -> String) -> String {
        let mut parts = Vec::new();
        if let Some(not_run @ 1..) = self.not_run {
            parts.push((Color::LightYellow, format!("unchanged={not_run}")));
        }
        if self.changed > 0 {
            parts.push((Color::Green, format!("changed={}", self.changed)));
        }
        let parts: Vec<_> = parts
            .into_iter()
            .map(|(color, text)| format!("{}{text}{}", palette.start(color), palette.end()))
            .collect();
        let parts = if parts.is_empty() {
            String::new()
        } else {
            format!(" ({})", parts.join(", "))
        };
        let text = count("Succeeded", &self.good().to_string());
        format!(
            "{}{text}{}{parts}",
            palette.start(Color::Green),
            palette.end()
        )
    }

    fn run_time(&self, width: usize) -> String {
        let mut sum = self.serial_ms + self.parallel_ms;
        let mut unit = "ms";
        if sum > 999.0 {
            sum /= 1000.0;
            unit = "s";
        }
        let number = format!("{sum:.3}");
        format!("Total run time: {number:>0$} {unit}", width - 5)
    }

    fn good(&self) -> usize {
        self.succeeded.unwrap_or(0) + self.not_run.unwrap_or(0)
    }

    fn total(&self) -> usize {
        let other: usize = self.other.iter().map(|(_, count)| count).sum();
        self.good() + self.failed.unwrap_or(0) + other
    }

    fn digits(&self) -> usize {
        [self.succeeded, self.failed, self.not_run, self.warnings]
            .into_iter()
            .flatten()
            .chain(self.other.iter().map(|(_, count)| *count))
            .map(|count| count.to_string().len())
            .max()
            .unwrap_or(0)
    }
}

/// `part` of `total` in percent, rounded to two digits as Python does.
fn count_share(part: usize, total: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "numbers of states")]
    let share = part as f64 / total as f64 * 100.0;
    let rounded: f64 = format!("{share:.2}").parse().unwrap_or(share);
    python::float_repr(rounded)
}
