//! The dtypes: their names, what they store, and what arithmetic between them gives.

use crate::fault::{Outcome, lacks, runtime_error};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DType {
    Bool,
    UInt8,
    Int8,
    Int16,
    Int32,
    Int64,
    Float16,
    BFloat16,
    Float32,
    Float64,
}

use DType::*;

/// Each dtype with its name and those of its C++ types.
const NAMES: [(DType, &str, &str, &str); 10] = [
    (Bool, "bool", "Bool", "bool"),
    (UInt8, "uint8", "Byte", "unsigned char"),
    (Int8, "int8", "Char", "signed char"),
    (Int16, "int16", "Short", "short"),
    (Int32, "int32", "Int", "int"),
    (Int64, "int64", "Long", "long int"),
    (Float16, "float16", "Half", "c10::Half"),
    (BFloat16, "bfloat16", "BFloat16", "c10::BFloat16"),
    (Float32, "float32", "Float", "float"),
    (Float64, "float64", "Double", "double"),
];

/// Other names of dtypes in Python.
const ALIASES: [(&str, DType); 6] = [
    ("float", Float32),
    ("double", Float64),
    ("half", Float16),
    ("long", Int64),
    ("int", Int32),
    ("short", Int16),
];

/// Integers from here on are no longer whole in the floats that this port stores.
const WHOLE: f64 = 9_007_199_254_740_992.0;

const BFLOAT16_MAX: f64 = 3.389_531_389_251_535_5e38;

impl DType {
    pub fn named(name: &str) -> Option<DType> {
        let own = NAMES.iter().find(|row| row.1 == name).map(|row| row.0);
        own.or_else(|| ALIASES.iter().find(|row| row.0 == name).map(|row| row.1))
    }

    fn row(self) -> &'static (DType, &'static str, &'static str, &'static str) {
        &NAMES[self as usize]
    }

    /// Its name in Python, such as `float32`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Its name as a `ScalarType`, such as `Float`.
    pub fn scalar_type(self) -> &'static str {
        self.row().2
    }

    /// The name of its C++ type, such as `double`.
    pub fn type_name(self) -> &'static str {
        self.row().3
    }

    /// Its type's name in messages about versions.
    pub fn legacy_name(self) -> String {
        match self {
            BFloat16 => "CPUBFloat16Type".to_string(),
            other => format!("torch.{}Tensor", other.scalar_type()),
        }
    }

    pub fn is_float(self) -> bool {
        self.category() == 2
    }

    /// Bools, integers and floats, in the order of promotion.
    pub fn category(self) -> u8 {
        match self {
            Bool => 0,
            UInt8 | Int8 | Int16 | Int32 | Int64 => 1,
            _ => 2,
        }
    }

    /// An element as it is stored; integers wrap round.
    pub fn stored(self, value: f64) -> Outcome<f64> {
        let is_whole = matches!(self, UInt8 | Int8 | Int16 | Int32 | Int64);
        if is_whole && value.abs() >= WHOLE {
            return Err(lacks("integers from 2^53 on"));
        }
        Ok(match self {
            Bool => f64::from(u8::from(value != 0.0)),
            UInt8 => f64::from(value as i64 as u8),
            Int8 => f64::from(value as i64 as i8),
            Int16 => f64::from(value as i64 as i16),
            Int32 => f64::from(value as i64 as i32),
            Int64 => value.trunc(),
            other => other.rounded(value),
        })
    }

    /// Raise for a number that this dtype cannot hold. A negative one may wrap round in a dtype
    /// without sign, if it is whole.
    pub fn check(self, value: f64) -> Outcome<()> {
        let (low, high, name) = match self {
            Bool | Float64 => return Ok(()),
            UInt8 if value.fract() == 0.0 => (-255.0, 255.0, "uint8_t"),
            UInt8 => (0.0, 255.0, "uint8_t"),
            Int8 => (-128.0, 127.0, "int8_t"),
            Int16 => (-32768.0, 32767.0, "int16_t"),
            Int32 => (-2_147_483_648.0, 2_147_483_647.0, "int"),
            Int64 => (-9.3e18, 9.3e18, "int64_t"),
            Float16 => (-65504.0, 65504.0, "c10::Half"),
            BFloat16 => (-BFLOAT16_MAX, BFLOAT16_MAX, "c10::BFloat16"),
            Float32 => (f64::from(f32::MIN), f64::from(f32::MAX), "float"),
        };
        let fits = (low..=high).contains(&value) || (self.is_float() && !value.is_finite());
        if fits {
            return Ok(());
        }
        Err(runtime_error(format!("value cannot be converted to type {name} without overflow")))
    }

    /// A float rounded to the nearest of this dtype's.
    pub fn rounded(self, value: f64) -> f64 {
        match self {
            Float16 => rounded_to(value, 11, -14, 65504.0),
            BFloat16 => rounded_to(value, 8, -126, BFLOAT16_MAX),
            Float32 => f64::from(value as f32),
            _ => value,
        }
    }

    /// The dtype of arithmetic between two, by `torch.promote_types`.
    pub fn with(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        match (self.category(), other.category()) {
            (a, b) if a > b => self,
            (a, b) if a < b => other,
            (1, _) => integers(self, other),
            _ => match (self, other) {
                (Float64, _) | (_, Float64) => Float64,
                _ => Float32,
            },
        }
    }
}

fn integers(one: DType, other: DType) -> DType {
    let (small, large) =
        if (one as usize) < (other as usize) { (one, other) } else { (other, one) };
    match (small, large) {
        (UInt8, Int8) => Int16,
        _ => large,
    }
}

/// A number with a mantissa of so many bits, ties to even; infinite beyond `largest`.
fn rounded_to(value: f64, bits: i32, smallest: i32, largest: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = (value.abs().log2().floor() as i32).max(smallest);
    let unit = 2f64.powi(exponent - bits + 1);
    let made = (value / unit).round_ties_even() * unit;
    if made.abs() > largest { f64::INFINITY.copysign(value) } else { made }
}
