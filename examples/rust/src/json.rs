//! JSON: reading a line into a value, and writing a value as a line.

use std::fmt;

/// A JSON value. Whole numbers of up to 64 bits stay whole.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Deeper nesting is refused: reading is recursive.
const DEPTH: usize = 200;

impl Json {
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader.fault("something after the value")),
        }
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The items of an array; none of anything else.
    pub fn items(&self) -> &[Json] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// The members of an object; none of anything else.
    pub fn members(&self) -> &[(String, Json)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }
}

/// An object from its members.
pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(k, v)| (k.to_string(), v)).into())
}

/// A float, as the protocol has it: what is not finite is a string.
pub fn float(value: f64) -> Json {
    if value.is_nan() {
        Json::from("nan")
    } else if value.is_infinite() {
        Json::from(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        Json::Float(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Str(text.to_string())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Json {
        Json::Str(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Json {
        Json::Int(value as i64)
    }
}

impl From<&[usize]> for Json {
    fn from(values: &[usize]) -> Json {
        Json::Array(values.iter().map(|&value| Json::from(value)).collect())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self, what: &str) -> String {
        format!("{what} at byte {}", self.at)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.fault(&format!("no {word}")));
        }
        self.at += word.len();
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH {
            return Err(self.fault("nested too deep"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Json::Str),
            Some(b'n') => self.expect("null").map(|()| Json::Null),
            Some(b't') => self.expect("true").map(|()| Json::Bool(true)),
            Some(b'f') => self.expect("false").map(|()| Json::Bool(false)),
            Some(_) => self.number(),
            None => Err(self.fault("the end")),
        }
    }

    /// Read items with commas between them up to `close`.
    fn separated(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_space();
            let found = self.peek();
            self.at += 1;
            match found {
                Some(b',') => {}
                Some(byte) if byte == close => return Ok(()),
                _ => return Err(self.fault("no comma")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, String> {
        let mut items = Vec::new();
        self.separated(b']', |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        let mut members = Vec::new();
        self.separated(b'}', |reader| {
            reader.skip_space();
            let key = reader.string()?;
            reader.skip_space();
            reader.expect(":")?;
            members.push((key, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Json::Object(members))
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect("\"")?;
        let mut made = String::new();
        loop {
            let rest = &self.text[self.at..];
            let next = rest.chars().next().ok_or_else(|| self.fault("an open string"))?;
            self.at += next.len_utf8();
            match next {
                '"' => return Ok(made),
                '\\' => made.push(self.escaped()?),
                plain => made.push(plain),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let byte = self.peek().ok_or_else(|| self.fault("an open string"))?;
        self.at += 1;
        Ok(match byte {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => byte as char,
            b'u' => {
                let first = self.unit()?;
                let paired =
                    (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u");
                if !paired {
                    return Ok(char::from_u32(first).unwrap_or('\u{fffd}'));
                }
                self.at += 2;
                let second = self.unit()?;
                let whole =
                    0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff);
                char::from_u32(whole).unwrap_or('\u{fffd}')
            }
            _ => return Err(self.fault("an unknown escape")),
        })
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4);
        let found = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        found.ok_or_else(|| "an escape that is none".to_string())
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(Json::Int(whole));
        }
        text.parse().map(Json::Float).map_err(|_| self.fault("no value"))
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => out.write_str("null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Int(value) => write!(out, "{value}"),
            // Rust's shortest form of a float reads back to the same bits; `1e400` would not.
            Json::Float(value) => write!(out, "{value:?}"),
            Json::Str(text) => write_string(out, text),
            Json::Array(items) => {
                out.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if i > 0 { "," } else { "" })?;
                }
                out.write_str("]")
            }
            Json::Object(members) => {
                out.write_str("{")?;
                for (i, (key, value)) in members.iter().enumerate() {
                    out.write_str(if i > 0 { "," } else { "" })?;
                    write_string(out, key)?;
                    write!(out, ":{value}")?;
                }
                out.write_str("}")
            }
        }
    }
}

fn write_string(out: &mut fmt::Formatter, text: &str) -> fmt::Result {
    out.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            control if (control as u32) < 0x20 => write!(out, "\\u{:04x}", control as u32)?,
            plain => write!(out, "{plain}")?,
        }
    }
    out.write_str("\"")
}
