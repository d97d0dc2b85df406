//! The words of `salt` as a command: target, function or functions, arguments.

use halite_proto::Value;

use crate::args;
use crate::options::{SaltOptions, Stop};

/// The function that `--doc` runs.
pub const DOC_FUNCTION: &str = "sys.doc";

/// What to run where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The target: text, or a list of ids.
    pub target: Value,
    /// The kind of target by its name on the wire.
    pub target_kind: &'static str,
    /// One function, or several that run one after another.
    pub function: Value,
    /// Its arguments, or a list of arguments for each.
    pub arguments: Vec<Value>,
}

impl Command {
    /// Reads the words. `no_parse` names arguments that stay text.
    ///
    /// # Errors
    /// When words are missing, or separators do not fit the functions.
    pub fn parse(options: &SaltOptions, no_parse: &[String]) -> Result<Self, Stop> {
        let words = documented_words(options)?;
        let Some(target) = words.first() else {
            return Err(SaltOptions::incomplete(
                "Cannot execute command without defining a target.",
            ));
        };
        let function = match words.get(1) {
            Some(function) => function,
            None if options.preview_target => "",
            None => return Err(SaltOptions::incomplete("Incomplete options passed.")),
        };
        let rest = words.get(2..).unwrap_or_default();
        let (function, arguments) = if function.contains(',') {
            let functions: Vec<&str> = function.split(',').collect();
            let lists = split_arguments(rest, functions.len(), &options.args_separator)?;
            let arguments = lists
                .iter()
                .map(|words| Value::List(args::parse(words, no_parse)))
                .collect();
            let functions = functions.into_iter().map(Value::from).collect();
            (Value::List(functions), arguments)
        } else {
            (Value::from(function), args::parse(rest, no_parse))
        };
        Ok(Self {
            target: target_value(target, options.target.list),
            target_kind: options.target.kind(),
            function,
            arguments,
        })
    }

    /// Whether the one function is this one.
    pub fn is_function(&self, name: &str) -> bool {
        self.function.as_str() == Some(name)
    }
}

/// The words with `sys.doc` put in where `--doc` asks for it.
fn documented_words(options: &SaltOptions) -> Result<Vec<&str>, Stop> {
    let mut words: Vec<&str> = options.words.iter().map(String::as_str).collect();
    if options.doc {
        if words.is_empty() {
            words.push("*");
        }
        if words.get(1) != Some(&DOC_FUNCTION) {
            words.insert(1, DOC_FUNCTION);
        }
        if words.len() > 3 {
            return Err(Stop::usage::<SaltOptions>(
                "You can only get documentation for one method at one time.",
            ));
        }
    }
    Ok(words)
}

fn target_value(target: &str, is_list: bool) -> Value {
    if !is_list {
        return target.into();
    }
    if target.contains(',') {
        let ids = target.replace(' ', "");
        Value::List(ids.split(',').map(Value::from).collect())
    } else {
        Value::List(target.split_whitespace().map(Value::from).collect())
    }
}

/// The words of each of several functions. The separator stands alone; where it
/// does not so often enough, it may also be inside words.
fn split_arguments(
    words: &[&str],
    functions: usize,
    separator: &str,
) -> Result<Vec<Vec<String>>, Stop> {
    let mut lists: Vec<Vec<String>> = vec![Vec::new()];
    let mut push = |part: Option<&str>| match (part, lists.last_mut()) {
        (Some(word), Some(list)) => list.push(word.to_owned()),
        _ => lists.push(Vec::new()),
    };
    let alone = words.iter().filter(|word| **word == separator).count();
    for word in words {
        if alone + 1 == functions {
            push((*word != separator).then_some(word));
            continue;
        }
        for (index, part) in split_word(word, separator).enumerate() {
            if index > 0 {
                push(None);
            }
            if !part.is_empty() {
                push(Some(part));
            }
        }
    }
    let refusal = match lists.len().cmp(&functions) {
        std::cmp::Ordering::Equal => return Ok(lists),
        std::cmp::Ordering::Less => {
            "Cannot execute compound command without defining all arguments."
        }
        std::cmp::Ordering::Greater => {
            "Cannot execute compound command with more arguments than commands."
        }
    };
    Err(Stop {
        stdout: String::new(),
        stderr: format!("{refusal}\n"),
        exit: crate::Exit::Incomplete,
    })
}

fn split_word<'a>(word: &'a str, separator: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
    if separator.is_empty() {
        Box::new(std::iter::once(word))
    } else {
        Box::new(word.split(separator))
    }
}
