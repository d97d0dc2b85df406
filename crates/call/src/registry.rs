//! The registry of functions. One table per module, found by name; nothing is built
//! when the program starts.

use crate::call::Call;
use crate::error::CallResult;
use crate::manual;
use crate::requirement::{Requirement, Unmet};
use crate::signature::{Signature, SignatureError};

/// A function of an execution module.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its full name, `test.ping`.
    pub name: &'static str,
    /// Its parameters as Python writes them: `(text, rstrip=True, **kwargs)`.
    pub signature: &'static str,
    /// What `sys.doc` says.
    pub doc: &'static str,
    /// The outputter its return wants, if not `nested`.
    pub out: Option<&'static str>,
    /// What it does.
    pub run: fn(&Call<'_>) -> CallResult,
    /// What Python calls it, if it is one that users wrote in Python.
    python: Option<&'static str>,
}

impl Function {
    /// A function whose return is shown by the default outputter.
    pub const fn new(
        name: &'static str,
        signature: &'static str,
        run: fn(&Call<'_>) -> CallResult,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            signature,
            doc,
            out: None,
            run,
            python: None,
        }
    }

    /// The same function as one that users wrote in Python: `name` is what it
    /// is called there, and its documentation stays as it is.
    pub(crate) const fn of_users(mut self, name: &'static str) -> Self {
        self.python = Some(name);
        self
    }

    /// Whether users wrote it in Python.
    pub const fn is_of_users(&self) -> bool {
        self.python.is_some()
    }

    /// The same function with a return that asks for the outputter `nested`.
    pub const fn nested(mut self) -> Self {
        self.out = Some("nested");
        self
    }

    /// The module part of the name.
    pub fn module(&self) -> &'static str {
        self.name
            .split_once('.')
            .map_or(self.name, |(module, _)| module)
    }

    /// The name of the function within its module.
    pub fn short_name(&self) -> &'static str {
        self.name
            .split_once('.')
            .map_or(self.name, |(_, name)| name)
    }

    /// The name that Python's messages about wrong arguments use: names that
    /// are Python's own have an underscore behind them there.
    pub fn python_name(&self) -> String {
        if let Some(name) = self.python {
            return name.to_owned();
        }
        const UNDERSCORED: &[&str] = &[
            "disk.format",
            "match.list",
            "minion.list",
            "state.apply",
            "status.time",
            "test.false",
            "test.true",
            "test.try",
        ];
        let mut name = match self.name {
            "grains.fetch" | "pillar.fetch" => "get",
            _ => self.short_name(),
        }
        .to_owned();
        if UNDERSCORED.contains(&self.name) {
            name.push('_');
        }
        name
    }

    /// The documentation as `sys.doc` shows it: set off by blank lines and
    /// indented, with examples of the call.
    pub fn doc_text(&self) -> String {
        if self.python.is_some() {
            return self.doc.to_owned();
        }
        let page = manual::function(self.name);
        let mut text = self.described();
        for named in page.map_or(&[][..], |page| &page.named[..]) {
            text.push_str(&format!("        {named}\n"));
        }
        if let Some(page) = page {
            text.push_str(&format!("\n    Returns:\n\n        {}\n", page.returns));
        }
        text.push_str("\n    CLI Example:\n\n");
        match page {
            Some(page) => {
                for example in &page.examples {
                    let line = format!("        salt '*' {} {}", self.name, example.text);
                    text.push_str(line.trim_end());
                    if let Some(answer) = example.answer {
                        text.push_str(&format!("    # {answer}"));
                    }
                    text.push('\n');
                }
            }
            None => {
                let example = self.example();
                text.push_str(&format!("        salt '*' {}{example}\n", self.name));
            }
        }
        text.push_str(&differences(page));
        text.push_str("    ");
        text
    }

    /// As [`doc_text`](Self::doc_text), of a state function: its examples stand in
    /// SLS files.
    pub fn state_doc_text(&self) -> String {
        if self.python.is_some() {
            return self.doc.to_owned();
        }
        let page = manual::state(self.name);
        let mut text = self.described();
        if let Some(page) = page {
            text.push_str(&format!("\n    Changes:\n\n        {}\n", page.returns));
            text.push_str("\n    Example:\n");
            for example in &page.examples {
                text.push('\n');
                for line in example.text.lines() {
                    text.push_str(&format!("        {line}\n"));
                }
            }
        }
        text.push_str(&differences(page));
        text.push_str("    ");
        text
    }

    /// What it does, and its arguments.
    fn described(&self) -> String {
        let mut text = String::from("\n");
        for line in self.doc.lines() {
            if !line.trim().is_empty() {
                text.push_str("    ");
                text.push_str(line.trim_end());
            }
            text.push('\n');
        }
        let arguments = manual::arguments(&self.parse_signature().unwrap_or_default());
        if !arguments.is_empty() {
            text.push_str(&format!("\n    Arguments:\n\n{arguments}"));
        }
        text
    }

    /// The arguments that must be given, in the notation of usage lines.
    fn example(&self) -> String {
        let signature = self.parse_signature().unwrap_or_default();
        let required = signature
            .params
            .iter()
            .filter(|param| param.default.is_none())
            .map(|param| format!(" <{}>", param.name));
        let rest = signature
            .varargs
            .iter()
            .map(|name| format!(" [{name} ...]"));
        required.chain(rest).collect()
    }

    /// The parsed signature.
    ///
    /// # Errors
    /// When the table holds a bad signature, which a test rules out.
    pub fn parse_signature(&self) -> Result<Signature, SignatureError> {
        Signature::parse(self.signature)
    }
}

/// What differs from Salt, if anything is known to.
fn differences(page: Option<&manual::Page>) -> String {
    let differs = page.map_or(&[][..], |page| &page.differs[..]);
    if differs.is_empty() {
        return String::new();
    }
    let lines: String = differs
        .iter()
        .map(|line| format!("        {line}\n"))
        .collect();
    format!("\n    Differs from Salt:\n\n{lines}")
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.name, self.signature)
    }
}

/// A module: a name and its functions.
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// The name, `test`.
    pub name: &'static str,
    /// Its functions.
    pub functions: &'static [Function],
}

impl Module {
    /// What is wrong with tables of modules: those that are not in the order of
    /// their names, functions that are of another module, whose signatures
    /// cannot be read, or that say next to nothing of themselves. For the tests
    /// of the crates that bring tables.
    pub fn faults(tables: &[&[Self]]) -> Vec<String> {
        let mut faults = Vec::new();
        for table in tables {
            for (before, module) in table.iter().zip(table.iter().skip(1)) {
                if before.name >= module.name {
                    faults.push(format!("{} stands before {}", before.name, module.name));
                }
            }
            faults.extend(table.iter().flat_map(|module| module.own_faults()));
        }
        faults
    }

    fn own_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut last = "";
        for function in self.functions {
            let name = function.name;
            if last >= name {
                faults.push(format!("{last} stands before {name}"));
            }
            last = name;
            if function.module() != self.name {
                faults.push(format!("{name} is among those of {}", self.name));
            }
            if let Err(error) = function.parse_signature() {
                faults.push(format!("{function:?}: {error}"));
            }
            if function.doc.len() < DOC_BYTES_MIN {
                faults.push(format!("{name} is not documented"));
            }
        }
        faults
    }
}

/// A documentation that is shorter than so says nothing.
const DOC_BYTES_MIN: usize = 11;

/// The functions that a caller has: execution modules and state modules. Each
/// crate that has some brings a table; a program puts the tables together.
///
/// Invariant: no two tables of a registry have a module of the same name.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    modules: &'static [&'static [Module]],
    states: &'static [&'static [Module]],
    requirements: &'static [Requirement],
}

impl Registry {
    /// A registry of these tables of execution modules and of state modules.
    /// State modules are written like execution modules; theirs take the
    /// arguments of a state and return a state's result.
    pub const fn new(
        modules: &'static [&'static [Module]],
        states: &'static [&'static [Module]],
    ) -> Self {
        Self {
            modules,
            states,
            requirements: &[],
        }
    }

    /// The same with what modules need of the machine.
    pub const fn requiring(mut self, requirements: &'static [Requirement]) -> Self {
        self.requirements = requirements;
        self
    }

    /// What a machine lacks for the module of the function `fun`, so that it is
    /// not available; `has` says whether it has a program.
    pub fn unmet(&self, fun: &str, has: impl Fn(&str) -> bool) -> Option<Unmet> {
        let module = fun.split('.').next()?;
        let mut requirements = self.requirements.iter();
        let requirement = requirements.find(|requirement| requirement.module == module)?;
        requirement.unmet(has)
    }

    /// The execution function with the full name `fun`.
    pub fn get(&self, fun: &str) -> Option<&'static Function> {
        function_of(self.modules, fun)
    }

    /// The execution module called `name`.
    pub fn module(&self, name: &str) -> Option<&'static Module> {
        module_of(self.modules, name)
    }

    /// Every execution module.
    pub fn modules(&self) -> impl Iterator<Item = &'static Module> + use<> {
        self.modules.iter().flat_map(|table| table.iter())
    }

    /// Every execution function.
    pub fn functions(&self) -> impl Iterator<Item = &'static Function> + use<> {
        self.modules().flat_map(|module| module.functions.iter())
    }

    /// The state function with the full name `fun`.
    pub fn state(&self, fun: &str) -> Option<&'static Function> {
        function_of(self.states, fun)
    }

    /// The state module called `name`.
    pub fn state_module(&self, name: &str) -> Option<&'static Module> {
        module_of(self.states, name)
    }

    /// Every state module.
    pub fn state_modules(&self) -> impl Iterator<Item = &'static Module> + use<> {
        self.states.iter().flat_map(|table| table.iter())
    }
}

fn module_of(tables: &[&'static [Module]], name: &str) -> Option<&'static Module> {
    tables
        .iter()
        .find_map(|table| table.iter().find(|module| module.name == name))
}

fn function_of(tables: &[&'static [Module]], fun: &str) -> Option<&'static Function> {
    let (module, _) = fun.split_once('.')?;
    module_of(tables, module)?
        .functions
        .iter()
        .find(|function| function.name == fun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told() {
        fn nothing(_: &Call<'_>) -> CallResult {
            Ok(halite_proto::Value::Nil)
        }
        const TABLE: &[Module] = &[
            Module {
                name: "b",
                functions: &[
                    Function::new("b.y", "(", nothing, "Documented, but not well formed."),
                    Function::new("a.x", "()", nothing, "?"),
                ],
            },
            Module {
                name: "a",
                functions: &[],
            },
        ];
        let faults = Module::faults(&[TABLE]);
        assert_eq!(faults.len(), 5, "{faults:?}");
    }
}
