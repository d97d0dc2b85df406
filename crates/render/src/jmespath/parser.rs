//! Tokens to a tree: precedence climbing with the binding powers of the
//! Python library.

use halite_proto::Value;

use super::lexer::{Token, lex};
use super::{QueryError, Syntax};
use crate::limits::{QUERY_DEPTH_MAX, QUERY_OPERATORS_MAX};

/// A query.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Current,
    Field(String),
    Literal(Value),
    Index(i64),
    Slice(Option<i64>, Option<i64>, Option<i64>),
    /// The right one of what the left one gives.
    Then(Box<Self>, Box<Self>),
    Pipe(Box<Self>, Box<Self>),
    Projection(Box<Self>, Box<Self>),
    Values(Box<Self>, Box<Self>),
    Filter(Box<Self>, Box<Self>, Box<Self>),
    Flatten(Box<Self>),
    Compare(&'static str, Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Not(Box<Self>),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    Call(String, Vec<Self>),
    /// `&expression`: an argument that is not evaluated before the call.
    Reference(Box<Self>),
}

/// Below this a token ends a projection.
const PROJECTION_STOP: u32 = 10;

struct Parser<'q> {
    query: &'q str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: u32,
    chained: u32,
}

type Parsed = Result<Node, QueryError>;

/// The tree of a query.
pub(super) fn parse(query: &str) -> Parsed {
    let mut parser = Parser {
        query,
        tokens: lex(query)?,
        at: 0,
        depth: 0,
        chained: 0,
    };
    let node = parser.expression(0)?;
    match parser.current() {
        Token::End => Ok(node),
        _ => Err(parser.wrong()),
    }
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> &Token {
        self.tokens
            .get(self.at + ahead)
            .map_or(&Token::End, |(token, _)| token)
    }

    fn current(&self) -> &Token {
        self.peek(0)
    }

    fn is(&self, sign: &'static str) -> bool {
        *self.current() == Token::Sign(sign)
    }

    fn advance(&mut self) -> Token {
        let token = self.current().clone();
        self.at += 1;
        token
    }

    fn want(&mut self, sign: &'static str) -> Result<(), QueryError> {
        if !self.is(sign) {
            return Err(self.wrong());
        }
        self.at += 1;
        Ok(())
    }

    fn wrong(&self) -> QueryError {
        let message = match self.current() {
            Token::Name(name) => format!("\"{name}\" (UNQUOTED_IDENTIFIER)"),
            Token::Quoted(name) => format!("\"{name}\" (QUOTED_IDENTIFIER)"),
            Token::Number(number) => format!("\"{number}\" (NUMBER)"),
            Token::Sign(sign) => format!("\"{sign}\""),
            Token::Literal(_) => "of a literal".to_owned(),
            Token::End => String::new(),
        };
        self.error(&message)
    }

    fn error(&self, message: &str) -> QueryError {
        let kind = match self.current() {
            Token::End => Syntax::Incomplete,
            _ => Syntax::Parser,
        };
        let at = self.tokens.get(self.at).or_else(|| self.tokens.last());
        QueryError::Syntax {
            kind,
            message: message.to_owned(),
            column: at.map_or(0, |(_, column)| *column),
            query: self.query.to_owned(),
        }
    }

    fn expression(&mut self, power: u32) -> Parsed {
        self.depth += 1;
        if self.depth > QUERY_DEPTH_MAX {
            return Err(self.error("nested too deeply"));
        }
        let mut left = self.start()?;
        while power < self.current().power() {
            self.chained += 1;
            if self.chained > QUERY_OPERATORS_MAX {
                return Err(self.error("too many operators"));
            }
            left = self.go_on(left)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn boxed(&mut self, power: u32) -> Result<Box<Node>, QueryError> {
        self.expression(power).map(Box::new)
    }

    /// What a token means at the start of an expression.
    fn start(&mut self) -> Parsed {
        let token = self.advance();
        Ok(match token {
            Token::Literal(value) => Node::Literal(value),
            Token::Name(name) => Node::Field(name),
            Token::Quoted(name) if !self.is("(") => Node::Field(name),
            Token::Sign("*") => {
                let right = if self.is("]") {
                    Node::Current
                } else {
                    self.projected(20)?
                };
                Node::Values(Box::new(Node::Current), Box::new(right))
            }
            Token::Sign("[?") => self.filter(Node::Current)?,
            Token::Sign("{") => self.map()?,
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                self.want(")")?;
                inner
            }
            Token::Sign("[]") => self.flatten(Node::Current)?,
            Token::Sign("!") => Node::Not(self.boxed(45)?),
            Token::Sign("[") => match (self.current(), self.peek(1)) {
                (Token::Number(_) | Token::Sign(":"), _) => self.index(Node::Current)?,
                (Token::Sign("*"), Token::Sign("]")) => {
                    self.at += 2;
                    let right = self.projected(20)?;
                    Node::Projection(Box::new(Node::Current), Box::new(right))
                }
                _ => self.list()?,
            },
            Token::Sign("@") => Node::Current,
            Token::Sign("&") => Node::Reference(self.boxed(0)?),
            _ => {
                self.at -= 1;
                return Err(self.wrong());
            }
        })
    }

    /// What a token means behind an expression.
    fn go_on(&mut self, left: Node) -> Parsed {
        let token = self.advance();
        Ok(match token {
            Token::Sign(".") => {
                if self.is("*") {
                    self.at += 1;
                    Node::Values(Box::new(left), Box::new(self.projected(40)?))
                } else {
                    Node::Then(Box::new(left), Box::new(self.behind_dot(40)?))
                }
            }
            Token::Sign("|") => Node::Pipe(Box::new(left), self.boxed(1)?),
            Token::Sign("||") => Node::Or(Box::new(left), self.boxed(2)?),
            Token::Sign("&&") => Node::And(Box::new(left), self.boxed(3)?),
            Token::Sign(sign @ ("==" | "!=" | "<" | "<=" | ">" | ">=")) => {
                Node::Compare(sign, Box::new(left), self.boxed(5)?)
            }
            Token::Sign("[?") => self.filter(left)?,
            Token::Sign("[]") => self.flatten(left)?,
            Token::Sign("[") => match self.current() {
                Token::Number(_) | Token::Sign(":") => self.index(left)?,
                _ => {
                    self.want("*")?;
                    self.want("]")?;
                    Node::Projection(Box::new(left), Box::new(self.projected(20)?))
                }
            },
            Token::Sign("(") => match left {
                Node::Field(name) => Node::Call(name, self.arguments()?),
                _ => {
                    self.at -= 1;
                    return Err(self.wrong());
                }
            },
            _ => {
                self.at -= 1;
                return Err(self.wrong());
            }
        })
    }

    fn arguments(&mut self) -> Result<Vec<Node>, QueryError> {
        let mut arguments = Vec::new();
        while !self.is(")") {
            arguments.push(self.expression(0)?);
            if self.is(",") {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(arguments)
    }

    fn filter(&mut self, left: Node) -> Parsed {
        let condition = self.boxed(0)?;
        self.want("]")?;
        let right = if self.is("[]") {
            Node::Current
        } else {
            self.projected(21)?
        };
        Ok(Node::Filter(Box::new(left), Box::new(right), condition))
    }

    fn flatten(&mut self, left: Node) -> Parsed {
        let flat = Box::new(Node::Flatten(Box::new(left)));
        let right = self.projected(9)?;
        Ok(Node::Projection(flat, Box::new(right)))
    }

    /// An index or a slice, up to its bracket.
    fn index(&mut self, left: Node) -> Parsed {
        let is_slice = self.is(":") || *self.peek(1) == Token::Sign(":");
        if !is_slice {
            let Token::Number(index) = self.advance() else {
                return Err(self.wrong());
            };
            self.want("]")?;
            return Ok(Node::Then(Box::new(left), Box::new(Node::Index(index))));
        }
        let mut parts = [None; 3];
        let mut part = 0;
        while !self.is("]") {
            match self.current().clone() {
                Token::Sign(":") if part < 2 => part += 1,
                Token::Number(number) => parts[part] = Some(number),
                _ => return Err(self.wrong()),
            }
            self.at += 1;
        }
        self.at += 1;
        let slice = Node::Slice(parts[0], parts[1], parts[2]);
        let sliced = Node::Then(Box::new(left), Box::new(slice));
        let right = self.projected(20)?;
        Ok(Node::Projection(Box::new(sliced), Box::new(right)))
    }

    /// What is done to each item of a projection.
    fn projected(&mut self, power: u32) -> Parsed {
        if self.current().power() < PROJECTION_STOP {
            return Ok(Node::Current);
        }
        match self.current() {
            Token::Sign("[" | "[?") => self.expression(power),
            Token::Sign(".") => {
                self.at += 1;
                self.behind_dot(power)
            }
            _ => Err(self.wrong()),
        }
    }

    fn behind_dot(&mut self, power: u32) -> Parsed {
        match self.current() {
            Token::Name(_) | Token::Quoted(_) | Token::Sign("*") => self.expression(power),
            Token::Sign("[") => {
                self.at += 1;
                self.list()
            }
            Token::Sign("{") => {
                self.at += 1;
                self.map()
            }
            _ => Err(self.wrong()),
        }
    }

    fn list(&mut self) -> Parsed {
        let mut items = Vec::new();
        loop {
            items.push(self.expression(0)?);
            if self.is("]") {
                self.at += 1;
                return Ok(Node::List(items));
            }
            self.want(",")?;
        }
    }

    fn map(&mut self) -> Parsed {
        let mut entries = Vec::new();
        loop {
            let (Token::Name(name) | Token::Quoted(name)) = self.advance() else {
                self.at -= 1;
                return Err(self.wrong());
            };
            self.want(":")?;
            entries.push((name, self.expression(0)?));
            if self.is("}") {
                self.at += 1;
                return Ok(Node::Map(entries));
            }
            self.want(",")?;
        }
    }
}
