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

    /// The outputter of its merged returns.
    pub fn outputter(&self) -> Option<&'static str> {
        let function = self.function.as_str().unwrap_or_default();
        (function.split('.').next() == Some("state")).then_some("highstate")
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

#[cfg(test)]
mod tests {
    use halite_proto::Map;

    use super::*;
    use crate::options::parse;

    fn command(words: &[&str]) -> Result<Command, Stop> {
        let words = words.iter().map(std::ffi::OsString::from);
        Command::parse(&parse::<SaltOptions>(words).unwrap(), &[])
    }

    fn list(items: &[Value]) -> Value {
        Value::List(items.to_vec())
    }

    #[test]
    fn words_are_target_function_and_arguments() {
        let words = [
            "web*",
            "test.arg",
            "1",
            "-v",
            "k=[1]",
            "--",
            "-x",
            "--out=json",
        ];
        let command = command(&words).unwrap();
        assert_eq!(command.target, "web*".into());
        assert_eq!(command.target_kind, "glob");
        assert!(command.is_function("test.arg"));
        let keywords = Map::from([("__kwarg__", Value::from(true)), ("k", list(&[1.into()]))]);
        let expect = [1.into(), "-x".into(), "--out=json".into(), keywords.into()];
        assert_eq!(command.arguments, expect);
    }

    #[test]
    fn lists_are_cut_at_commas_or_blanks() {
        let target = |text| command(&["-L", text, "test.ping"]).unwrap().target;
        assert_eq!(
            target("a, b,c"),
            list(&["a".into(), "b".into(), "c".into()])
        );
        assert_eq!(target("a  b"), list(&["a".into(), "b".into()]));
        let kind = |option| command(&[option, "x", "test.ping"]).unwrap().target_kind;
        assert_eq!(kind("-G"), "grain");
        assert_eq!(kind("-I"), "pillar");
        assert_eq!(kind("--pillar-pcre"), "pillar_pcre");
    }

    #[test]
    fn several_functions_have_arguments_each() {
        let arguments = |words: &[&str]| {
            let mut all = vec!["*", "test.ping,test.echo"];
            all.extend(words);
            command(&all).map(|command| command.arguments)
        };
        let expect = [list(&[]), list(&["hello".into()])];
        assert_eq!(arguments(&[",", "hello"]).unwrap(), expect);
        assert_eq!(arguments(&[",hello"]).unwrap(), expect);
        let expect = [list(&["a,b".into()]), list(&["c".into()])];
        let separated = ["--args-separator=::", "a,b", "::", "c"];
        assert_eq!(arguments(&separated).unwrap(), expect);
        let refusal = |words| arguments(words).unwrap_err().stderr;
        assert_eq!(
            refusal(&["hello"]),
            "Cannot execute compound command without defining all arguments.\n"
        );
        assert_eq!(
            refusal(&["a,b,c"]),
            "Cannot execute compound command with more arguments than commands.\n"
        );
    }

    #[test]
    fn documentation_is_a_function_too() {
        let docs = |words: &[&str]| {
            let command = command(words).unwrap();
            assert!(command.is_function(DOC_FUNCTION));
            (command.target, command.arguments)
        };
        assert_eq!(docs(&["-d"]), ("*".into(), vec![]));
        assert_eq!(docs(&["-d", "web1"]), ("web1".into(), vec![]));
        let expect = ("web1".into(), vec!["test.ping".into()]);
        assert_eq!(docs(&["-d", "web1", "test.ping"]), expect);
        assert_eq!(docs(&["-d", "web1", "sys.doc", "test.ping"]), expect);
    }
}
