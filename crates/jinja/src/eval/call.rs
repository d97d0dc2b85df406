//! Calls of everything that can be called.

use std::rc::Rc;

use halite_proto::value::{Map, Value as Data};

use super::{Args, Env, Machine, access};
use crate::ast::{CallArgs, Expr};
use crate::error::{Error, ErrorKind, Result};
use crate::methods;
use crate::value::{self, Mapping, Object, Value};

impl Machine<'_> {
    pub(crate) fn eval_call(&self, env: &Env, callee: &Expr, args: &CallArgs) -> Result<Value> {
        let callee_value = self.eval(env, callee)?;
        let args = self.eval_args(env, args, None)?;
        self.call_in(env, callee, &callee_value, args)
    }

    /// Calls a value from a place; a macro adds itself to the trail.
    pub(crate) fn call_in(
        &self,
        env: &Env,
        place: &Expr,
        callee: &Value,
        args: Args,
    ) -> Result<Value> {
        match callee.as_object() {
            Some(Object::Function("show_full_context", _)) => Ok(self.full_context(env)),
            Some(Object::Macro(value)) => {
                let what = value
                    .name()
                    .map_or_else(|| "caller".to_owned(), |name| format!("macro '{name}'"));
                self.call(callee, args)
                    .map_err(|error| error.through(what, &env.source, place.span))
            }
            _ => self.call(callee, args),
        }
    }

    /// Calls a value.
    pub(crate) fn call(&self, callee: &Value, args: Args) -> Result<Value> {
        self.step()?;
        if let Some(undefined) = callee.as_undefined() {
            return Err(undefined.error());
        }
        let Some(object) = callee.as_object() else {
            return Err(not_callable(callee));
        };
        match object {
            Object::Function(_, function) => function(self, args),
            Object::Method(receiver, name) => match receiver.as_object() {
                Some(inner) => self.object_method(inner, name, args),
                None => methods::call(self, receiver, name, args),
            },
            Object::Macro(value) => self.deeper(|| value.call(self, args)),
            Object::Loop(state) => self.deeper(|| state.recurse(self, args)),
            Object::Block(block) => {
                args.no_named("block")?;
                self.deeper(|| block.render(self)).map(Value::str)
            }
            Object::Joiner(separator, used) => {
                let first = !used.replace(true);
                Ok(Value::str(if first { "" } else { separator }))
            }
            Object::SaltFunction(name) => self.salt_call(name, args),
            _ => Err(not_callable(callee)),
        }
    }

    fn object_method(&self, receiver: &Object, name: &str, mut args: Args) -> Result<Value> {
        match receiver {
            Object::Loop(state) if name == "changed" => {
                args.no_named(name)?;
                state.changed(args.pos).map(Value::Bool)
            }
            Object::Loop(state) => {
                args.no_named(name)?;
                state.cycle(&args.pos)
            }
            Object::Cycler(cycler) if name == "reset" => {
                cycler.at.set(0);
                Ok(Value::None)
            }
            Object::Cycler(cycler) => Ok(cycler.next()),
            Object::Salt => {
                let default = args
                    .pos
                    .get(1)
                    .cloned()
                    .or_else(|| args.take_named("default"));
                let found = match args.pos.first() {
                    Some(key) => access::item(self, &Value::salt(), key)?,
                    None => return Err(Error::of_type("get expected at least 1 argument, got 0")),
                };
                if found.as_undefined().is_some() {
                    return Ok(default.unwrap_or(Value::None));
                }
                Ok(found)
            }
            _ => Err(Error::new(
                ErrorKind::Attribute,
                format!("no method '{name}'"),
            )),
        }
    }

    /// Calls a function of the host. What it changes of its arguments changes
    /// in the template as well.
    fn salt_call(&self, name: &str, args: Args) -> Result<Value> {
        let to_data = if HAND_ON.contains(&name) {
            Value::to_data_handed_on
        } else {
            Value::to_data
        };
        let mut sent = Vec::with_capacity(args.pos.len());
        for value in &args.pos {
            sent.push(to_data(value)?);
        }
        let mut named = Map::new();
        for (key, value) in &args.named {
            named.insert(&**key, to_data(value)?);
        }
        let returned = self.host.call(name, &mut sent, &mut named)?;
        for index in returned.changed {
            if let (Some(value), Some(data)) = (args.pos.get(index), sent.get(index)) {
                replace_content(value, data);
            }
        }
        if let Some(value) = returned.same_as.and_then(|index| args.pos.get(index)) {
            return Ok(value.clone());
        }
        Ok(Value::from_data(&returned.value))
    }

    /// Hands a filter to the host.
    pub(crate) fn host_filter(&self, name: &str, args: &Args) -> Result<Value> {
        let mut sent = Vec::with_capacity(args.pos.len());
        for value in &args.pos {
            sent.push(value.to_data()?);
        }
        let mut named = Map::new();
        for (key, value) in &args.named {
            named.insert(&**key, value.to_data()?);
        }
        let result = self.host.filter(name, &mut sent, &mut named)?;
        Ok(Value::from_data(&result))
    }

    fn full_context(&self, env: &Env) -> Value {
        let mut all: Vec<_> = env
            .all()
            .into_iter()
            .map(|(name, value)| match value.to_data() {
                Ok(_) => (name, value),
                Err(_) => (name, Value::str(value::repr(&value).unwrap_or_default())),
            })
            .collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        let entries = all
            .into_iter()
            .map(|(name, value)| (value::Key::text(name), value));
        Value::dict(entries.collect())
    }
}

/// Functions that pick and merge parts of their arguments and look at nothing
/// else: what is undefined in a part that is not picked does no harm, as in the
/// maps of formulas.
const HAND_ON: [&str; 7] = [
    "defaults.deepcopy",
    "defaults.merge",
    "grains.filter_by",
    "match.filter_by",
    "pillar.filter_by",
    "slsutil.merge",
    "slsutil.update",
];

fn replace_content(value: &Value, data: &Data) {
    match (value, Value::from_data(data)) {
        (Value::List(list), Value::List(fresh)) => {
            let items = fresh.0.0.take();
            drop(list.0.0.replace(items));
        }
        (Value::Dict(Mapping(cell)), Value::Dict(Mapping(fresh))) => {
            let label = cell.0.borrow().label.clone();
            let mut dict = fresh.0.take();
            dict.label = label;
            drop(Rc::clone(cell).0.replace(dict));
        }
        _ => {}
    }
}

fn not_callable(value: &Value) -> Error {
    Error::of_type(format!("'{}' object is not callable", value.type_name()))
}
