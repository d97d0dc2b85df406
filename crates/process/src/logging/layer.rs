//! From events to lines.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;

use halite_proto::shown::for_log;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::LogFile;
use super::format::{Format, Line};
use super::level::{Level, name};
use super::syslog::Syslog;

/// Where lines go.
#[derive(Debug)]
pub(super) enum Sink {
    Stderr,
    File(Arc<LogFile>),
    Syslog(Syslog),
}

/// One of the places that get lines, with what it wants.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) level: Level,
    pub(super) format: Format,
    pub(super) sink: Sink,
}

/// Writes events the way Salt writes its log records; the spans an event lies
/// in come before its message, its fields after it.
/// Libraries whose errors those who use them report, once and with what they mean:
/// what they say themselves, at each attempt, is for those who look for causes.
const LIBRARIES: [&str; 1] = ["async_nats"];

fn is_library(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or_default();
    LIBRARIES.contains(&name)
}

#[derive(Debug)]
pub(super) struct SaltLayer {
    outputs: Vec<Output>,
    granular: Vec<(String, Level)>,
}

impl SaltLayer {
    pub(super) fn new(outputs: Vec<Output>, granular: Vec<(String, Level)>) -> Self {
        Self { outputs, granular }
    }

    /// The level that holds for `target` where `general` is the usual one.
    fn level_for(&self, target: &str, general: Level) -> Level {
        let granular = self
            .granular
            .iter()
            .filter(|(prefix, _)| target.starts_with(prefix.as_str()))
            .max_by_key(|(prefix, _)| prefix.len());
        match granular {
            Some((_, level)) => *level,
            None if is_library(target) && general > Level::Debug => Level::Quiet,
            None => general,
        }
    }

    fn shows(&self, output: &Output, metadata: &Metadata<'_>) -> bool {
        let target = metadata.target();
        self.level_for(target, output.level)
            .shows(*metadata.level(), target)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SaltLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if metadata.is_span()
            || self
                .outputs
                .iter()
                .any(|output| self.shows(output, metadata))
        {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let levels = self.outputs.iter().map(|output| output.level);
        let granular = self.granular.iter().map(|(_, level)| *level);
        levels
            .chain(granular)
            .map(Level::filter)
            .max()
            .or(Some(LevelFilter::OFF))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut message = String::new();
        for span in context
            .event_scope(event)
            .into_iter()
            .flat_map(|scope| scope.from_root())
        {
            message.push_str(span.name());
            if let Some(fields) = span.extensions().get::<Fields>()
                && !fields.rest.is_empty()
            {
                let _ = write!(message, "{{{}}}", fields.rest);
            }
            message.push_str(": ");
        }
        message.push_str(&fields.message);
        if !fields.rest.is_empty() {
            if !fields.message.is_empty() {
                message.push(' ');
            }
            message.push_str(&fields.rest);
        }
        // Much of it was said by others.
        let message = for_log(&message);
        let target = match fields.logger.as_str() {
            "" => metadata.target(),
            logger => logger,
        };
        let line = Line {
            level_name: name(*metadata.level(), target),
            target,
            line: metadata.line().unwrap_or_default(),
            file: metadata.file().unwrap_or_default(),
            message: &message,
        };
        let mut text = String::new();
        for output in self
            .outputs
            .iter()
            .filter(|output| self.shows(output, metadata))
        {
            text.clear();
            output.format.write(&mut text, &line);
            match &output.sink {
                // Nobody left to read the console is no reason to stop.
                Sink::Stderr => drop(std::io::stderr().lock().write_all(text.as_bytes())),
                Sink::File(file) => file.write(&text),
                Sink::Syslog(log) => log.send(line.level_name, &text),
            }
        }
    }
}

/// The fields of an event or span as text.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    /// Who logs, where it is code that is not ours: it stands for the target.
    logger: String,
    rest: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        if field.name() == "message" {
            let _ = self.message.write_fmt(value);
        } else if field.name() == "logger" {
            let _ = self.logger.write_fmt(value);
        } else {
            let space = if self.rest.is_empty() { "" } else { " " };
            let _ = write!(self.rest, "{space}{}={value}", field.name());
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        self.add(field, format_args!("{text}"));
    }
}
