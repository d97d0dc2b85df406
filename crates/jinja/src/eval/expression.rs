//! Evaluates expressions. The recursive function's own frame is kept small:
//! operations that need room are in functions of their own.

use super::{Args, Env, Machine, access, operators};
use crate::ast::{Applied, CallArgs, CompareOp, Condition, Expr, ExprKind};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{NEW_BYTES_PER_KEPT, TEXT_BYTES_MAX};
use crate::source::Str;
use crate::value::{self, Dict, Key, Object, Undefined, Value};
use crate::{checks, filters};

impl Machine<'_> {
    /// The value of an expression; errors get its place.
    pub(crate) fn eval(&self, env: &Env, expr: &Expr) -> Result<Value> {
        self.step()
            .and_then(|()| self.eval_kind(env, &expr.kind))
            .map_err(|error| error.at(&env.source, expr.span))
    }

    fn eval_kind(&self, env: &Env, kind: &ExprKind) -> Result<Value> {
        match kind {
            ExprKind::None => Ok(Value::None),
            ExprKind::Bool(bool) => Ok(Value::Bool(*bool)),
            ExprKind::Int(int) => Ok(Value::Int(*int)),
            ExprKind::Float(float) => Ok(Value::Float(*float)),
            ExprKind::Text(text) => Ok(Value::Str(Str::clone(text))),
            ExprKind::Name(name) => Ok(self.name(env, name)),
            compound => {
                self.check_stack()?;
                let value = self.eval_compound(env, compound)?;
                self.account(value.new_bytes() / NEW_BYTES_PER_KEPT)?;
                Ok(value)
            }
        }
    }

    fn name(&self, env: &Env, name: &Str) -> Value {
        env.get(name).unwrap_or_else(|| {
            if &**name == "self" {
                return self.blocks_of(env);
            }
            Undefined::name(name, self.lenient())
        })
    }

    fn eval_compound(&self, env: &Env, kind: &ExprKind) -> Result<Value> {
        match kind {
            ExprKind::Tuple(items) => Ok(Value::tuple(self.eval_all(env, items)?)),
            ExprKind::List(items) => Ok(Value::list(self.eval_all(env, items)?)),
            ExprKind::Dict(items) => self.eval_dict(env, items),
            ExprKind::Concat(parts) => self.eval_concat(env, parts),
            ExprKind::Binary(op, left, right) => {
                let left = self.eval(env, left)?;
                let right = self.eval(env, right)?;
                operators::binary(*op, &left, &right)
            }
            ExprKind::Negative(inner) => operators::negative(&self.eval(env, inner)?),
            ExprKind::Positive(inner) => operators::positive(&self.eval(env, inner)?),
            ExprKind::Not(inner) => Ok(Value::Bool(!self.truth(env, inner)?)),
            ExprKind::And(left, right) => self.eval_either(env, left, right, false),
            ExprKind::Or(left, right) => self.eval_either(env, left, right, true),
            ExprKind::Compare(first, rest) => self.eval_compare(env, first, rest),
            ExprKind::Condition(condition) => self.eval_condition(env, condition),
            ExprKind::Filter(applied) => self.eval_filter(env, applied, None),
            ExprKind::Test(applied) => self.eval_test(env, applied),
            ExprKind::Call(callee, args) => self.eval_call(env, callee, args),
            ExprKind::Attribute(inner, name) => {
                let inner = self.eval(env, inner)?;
                access::attribute(self, &inner, name)
            }
            ExprKind::Item(inner, item) => self.eval_item(env, inner, item),
            _ => Err(Error::of_type("a slice outside a subscript")),
        }
    }

    /// The truth of an expression.
    pub(crate) fn truth(&self, env: &Env, expr: &Expr) -> Result<bool> {
        let value = self.eval(env, expr)?;
        value
            .is_true()
            .map_err(|error| error.at(&env.source, expr.span))
    }

    fn eval_all(&self, env: &Env, items: &[Expr]) -> Result<Vec<Value>> {
        items.iter().map(|item| self.eval(env, item)).collect()
    }

    fn eval_dict(&self, env: &Env, items: &[(Expr, Expr)]) -> Result<Value> {
        let mut dict = Dict::new();
        for (key, item) in items {
            let key_value = self.eval(env, key)?;
            let item = self.eval(env, item)?;
            let key = Key::new(key_value).map_err(|error| error.at(&env.source, key.span))?;
            dict.insert(key, item);
        }
        Ok(Value::dict(dict))
    }

    fn eval_concat(&self, env: &Env, parts: &[Expr]) -> Result<Value> {
        let mut out = String::new();
        for part in parts {
            let value = self.eval(env, part)?;
            let printed;
            let text = match &value {
                Value::Str(text) => text,
                other => {
                    let text = value::text(other);
                    printed = text.map_err(|error| error.at(&env.source, part.span))?;
                    printed.as_str()
                }
            };
            if out.len() + text.len() > TEXT_BYTES_MAX {
                return Err(Error::long_text());
            }
            out.push_str(text);
        }
        Ok(Value::str(out))
    }

    fn eval_either(&self, env: &Env, left: &Expr, right: &Expr, stop: bool) -> Result<Value> {
        let value = self.eval(env, left)?;
        let truth = value
            .is_true()
            .map_err(|error| error.at(&env.source, left.span))?;
        if truth == stop {
            return Ok(value);
        }
        self.eval(env, right)
    }

    fn eval_compare(&self, env: &Env, first: &Expr, rest: &[(CompareOp, Expr)]) -> Result<Value> {
        let mut left = self.eval(env, first)?;
        for (op, right) in rest {
            let right = self.eval(env, right)?;
            if !self.holds(*op, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn holds(&self, op: CompareOp, left: &Value, right: &Value) -> Result<bool> {
        if let (CompareOp::In | CompareOp::NotIn, Some(Object::Salt)) = (op, right.as_object()) {
            let known = left
                .as_str()
                .is_some_and(|name| self.host().has_function(name));
            return Ok(known == (op == CompareOp::In));
        }
        operators::compare(op, left, right)
    }

    fn eval_condition(&self, env: &Env, condition: &Condition) -> Result<Value> {
        if self.truth(env, &condition.test)? {
            return self.eval(env, &condition.then);
        }
        match &condition.otherwise {
            Some(otherwise) => self.eval(env, otherwise),
            None => {
                let (line, _) = env.source.line_column(condition.test.span);
                let message = format!(
                    "the inline if-expression on line {line} evaluated to false and no else \
                     section was defined."
                );
                // Lenient always: Jinja2 takes its plain class here.
                Ok(Undefined::hint(message, true))
            }
        }
    }

    fn eval_item(&self, env: &Env, inner: &Expr, item: &Expr) -> Result<Value> {
        let inner = self.eval(env, inner)?;
        if let ExprKind::Slice(parts) = &item.kind {
            let part = |at: usize| match parts.get(at) {
                Some(Some(expr)) => self.eval(env, expr),
                _ => Ok(Value::None),
            };
            return access::slice(self, &inner, [&part(0)?, &part(1)?, &part(2)?]);
        }
        let item = self.eval(env, item)?;
        access::item(self, &inner, &item)
    }

    /// The arguments of a call, after what comes first.
    pub(crate) fn eval_args(
        &self,
        env: &Env,
        args: &CallArgs,
        first: Option<Value>,
    ) -> Result<Args> {
        let mut out = Args::default();
        out.pos.extend(first);
        for expr in &args.positional {
            out.pos.push(self.eval(env, expr)?);
        }
        for (name, expr) in &args.named {
            out.named.push((Str::clone(name), self.eval(env, expr)?));
        }
        if let Some(star) = &args.star {
            out.pos.extend(value::iterate(&self.eval(env, star)?)?);
        }
        if let Some(star_star) = &args.star_star {
            let Value::Dict(map) = self.eval(env, star_star)? else {
                return Err(Error::of_type("argument after ** must be a mapping"));
            };
            for (key, value) in map.0.0.borrow().iter() {
                let Some(name) = key.value().as_str() else {
                    return Err(Error::of_type("keywords must be strings"));
                };
                if out.named.iter().any(|(other, _)| &**other == name) {
                    return Err(Error::of_type(format!(
                        "got multiple values for keyword argument '{name}'"
                    )));
                }
                out.named.push((name.into(), value.clone()));
            }
        }
        Ok(out)
    }

    /// Applies a filter; `text` is what a filter block rendered.
    pub(crate) fn eval_filter(
        &self,
        env: &Env,
        applied: &Applied,
        text: Option<&Value>,
    ) -> Result<Value> {
        let value = match (&applied.value, text) {
            (Some(expr), Some(_)) => match &expr.kind {
                ExprKind::Filter(inner) => self.eval_filter(env, inner, text)?,
                _ => self.eval(env, expr)?,
            },
            (Some(expr), None) => self.eval(env, expr)?,
            (None, Some(text)) => text.clone(),
            (None, None) => Value::str(""),
        };
        let args = self.eval_args(env, &applied.args, Some(value))?;
        filters::apply(self, &applied.name, args)
    }

    fn eval_test(&self, env: &Env, applied: &Applied) -> Result<Value> {
        let Some(expr) = &applied.value else {
            return Err(Error::new(ErrorKind::Runtime, "a test without a value"));
        };
        let value = self.eval(env, expr)?;
        let args = self.eval_args(env, &applied.args, Some(value))?;
        checks::apply(self, &applied.name, args).map(Value::Bool)
    }
}
