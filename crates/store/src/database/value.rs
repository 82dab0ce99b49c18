//! Values that go into statements and come out of rows, for both engines.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::rc::Rc;

use bytes::{BufMut, BytesMut};
use mailwright_core::address::{DomainName, EmailAddress};
use mailwright_core::ids::{self, ProjectNumber};
use mailwright_core::time::Timestamp;
use rusqlite::types::{Value as LiteValue, ValueRef};
use serde_json::Value as Json;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use uuid::Uuid;

use crate::database::error::{Error, Result};

/// A bind argument. The plural variants are either the set of an `{in $n}` or, in
/// [`Tx::each`](crate::Tx::each), one column of rows.
#[derive(Debug, Clone)]
pub enum Arg<'a> {
    /// SQL null of any type.
    Null,
    /// 64-bit integer.
    Int(i64),
    /// Boolean.
    Bool(bool),
    /// Text.
    Text(Cow<'a, str>),
    /// Identifier.
    Id(Uuid),
    /// JSON text, for a `{json $n}`.
    Json(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
    /// Integers.
    Ints(Vec<Option<i64>>),
    /// Booleans.
    Bools(Vec<Option<bool>>),
    /// Texts.
    Texts(Vec<Option<Cow<'a, str>>>),
    /// Identifiers.
    Ids(Vec<Option<Uuid>>),
    /// JSON texts.
    Jsons(Vec<Option<Cow<'a, str>>>),
    /// Byte strings.
    Blobs(Vec<Option<Cow<'a, [u8]>>>),
}

impl Arg<'_> {
    /// How many rows a column holds; `None` for a scalar.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self {
            Self::Ints(v) => Some(v.len()),
            Self::Bools(v) => Some(v.len()),
            Self::Texts(v) | Self::Jsons(v) => Some(v.len()),
            Self::Ids(v) => Some(v.len()),
            Self::Blobs(v) => Some(v.len()),
            _ => None,
        }
    }

    /// Some rows of a column; a scalar as it is.
    pub(crate) fn of_rows(&self, rows: &[usize]) -> Arg<'_> {
        fn texts<'t>(all: &'t [Option<Cow<'_, str>>], rows: &[usize]) -> Vec<Option<Cow<'t, str>>> {
            rows.iter().map(|row| all[*row].as_deref().map(Cow::Borrowed)).collect()
        }
        match self {
            Self::Null => Arg::Null,
            Self::Int(value) => Arg::Int(*value),
            Self::Bool(value) => Arg::Bool(*value),
            Self::Text(value) => Arg::Text(Cow::Borrowed(value)),
            Self::Id(value) => Arg::Id(*value),
            Self::Json(value) => Arg::Json(Cow::Borrowed(value)),
            Self::Bytes(value) => Arg::Bytes(Cow::Borrowed(value)),
            Self::Ints(all) => Arg::Ints(rows.iter().map(|row| all[*row]).collect()),
            Self::Bools(all) => Arg::Bools(rows.iter().map(|row| all[*row]).collect()),
            Self::Texts(all) => Arg::Texts(texts(all, rows)),
            Self::Ids(all) => Arg::Ids(rows.iter().map(|row| all[*row]).collect()),
            Self::Jsons(all) => Arg::Jsons(texts(all, rows)),
            Self::Blobs(all) => {
                Arg::Blobs(rows.iter().map(|row| all[*row].as_deref().map(Cow::Borrowed)).collect())
            }
        }
    }

    /// Binds the whole argument (an array becomes the set of an `{in}`).
    pub(crate) fn bind(&self, statement: &mut rusqlite::Statement<'_>, index: usize) -> rusqlite::Result<()> {
        let set: Vec<LiteValue> = match self {
            Self::Ints(v) => v.iter().map(|x| x.map_or(LiteValue::Null, LiteValue::Integer)).collect(),
            Self::Bools(v) => {
                v.iter().map(|x| x.map_or(LiteValue::Null, |x| LiteValue::Integer(i64::from(x)))).collect()
            }
            Self::Texts(v) | Self::Jsons(v) => v
                .iter()
                .map(|x| x.as_ref().map_or(LiteValue::Null, |t| LiteValue::Text(t.to_string())))
                .collect(),
            Self::Ids(v) => v
                .iter()
                .map(|x| x.map_or(LiteValue::Null, |id| LiteValue::Blob(id.as_bytes().to_vec())))
                .collect(),
            Self::Blobs(v) => v
                .iter()
                .map(|x| x.as_ref().map_or(LiteValue::Null, |b| LiteValue::Blob(b.to_vec())))
                .collect(),
            scalar => return statement.raw_bind_parameter(index, scalar.element(0)),
        };
        statement.raw_bind_parameter(index, Rc::new(set))
    }

    /// Binds row `row` of a column, or the scalar itself.
    pub(crate) fn bind_row(
        &self,
        statement: &mut rusqlite::Statement<'_>,
        index: usize,
        row: usize,
    ) -> rusqlite::Result<()> {
        statement.raw_bind_parameter(index, self.element(row))
    }

    fn element(&self, row: usize) -> LiteRef<'_> {
        LiteRef(match self {
            Self::Null => ValueRef::Null,
            Self::Int(v) => ValueRef::Integer(*v),
            Self::Bool(v) => ValueRef::Integer(i64::from(*v)),
            Self::Text(v) | Self::Json(v) => ValueRef::Text(v.as_bytes()),
            Self::Id(v) => ValueRef::Blob(v.as_bytes()),
            Self::Bytes(v) => ValueRef::Blob(v),
            Self::Ints(v) => v[row].map_or(ValueRef::Null, ValueRef::Integer),
            Self::Bools(v) => v[row].map_or(ValueRef::Null, |x| ValueRef::Integer(i64::from(x))),
            Self::Texts(v) | Self::Jsons(v) => {
                v[row].as_ref().map_or(ValueRef::Null, |t| ValueRef::Text(t.as_bytes()))
            }
            Self::Ids(v) => v[row].as_ref().map_or(ValueRef::Null, |id| ValueRef::Blob(id.as_bytes())),
            Self::Blobs(v) => v[row].as_ref().map_or(ValueRef::Null, |b| ValueRef::Blob(b)),
        })
    }
}

struct LiteRef<'a>(ValueRef<'a>);

impl rusqlite::ToSql for LiteRef<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(rusqlite::types::ToSqlOutput::Borrowed(self.0))
    }
}

type PgResult = std::result::Result<IsNull, Box<dyn StdError + Sync + Send>>;

/// JSONB on the wire: a version byte, then the text.
#[derive(Debug)]
struct Jsonb<'a>(&'a str);

impl ToSql for Jsonb<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> PgResult {
        out.put_u8(1);
        out.put_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }

    tokio_postgres::types::to_sql_checked!();
}

impl ToSql for Arg<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> PgResult {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(v) => v.to_sql_checked(ty, out),
            Self::Bool(v) => v.to_sql_checked(ty, out),
            Self::Text(v) => v.as_ref().to_sql_checked(ty, out),
            Self::Id(v) => v.to_sql_checked(ty, out),
            Self::Json(v) => Jsonb(v).to_sql_checked(ty, out),
            Self::Bytes(v) => v.as_ref().to_sql_checked(ty, out),
            Self::Ints(v) => v.to_sql_checked(ty, out),
            Self::Bools(v) => v.to_sql_checked(ty, out),
            Self::Texts(v) => v.iter().map(Option::as_deref).collect::<Vec<_>>().to_sql_checked(ty, out),
            Self::Ids(v) => v.to_sql_checked(ty, out),
            Self::Jsons(v) => {
                v.iter().map(|t| t.as_deref().map(Jsonb)).collect::<Vec<_>>().to_sql_checked(ty, out)
            }
            Self::Blobs(v) => v.iter().map(Option::as_deref).collect::<Vec<_>>().to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true // each variant checks its own type
    }

    tokio_postgres::types::to_sql_checked!();
}

macro_rules! from {
    ($($ty:ty => |$v:ident| $arg:expr),+ $(,)?) => { $(
        impl<'a> From<$ty> for Arg<'a> {
            fn from($v: $ty) -> Self {
                $arg
            }
        }
    )+ };
}

from! {
    i64 => |v| Arg::Int(v),
    usize => |v| Arg::Int(v as i64),
    u64 => |v| Arg::Int(v as i64),
    bool => |v| Arg::Bool(v),
    String => |v| Arg::Text(v.into()),
    &'a str => |v| Arg::Text(v.into()),
    &'a String => |v| Arg::Text(v.as_str().into()),
    &'a [u8] => |v| Arg::Bytes(v.into()),
    Vec<u8> => |v| Arg::Bytes(v.into()),
    &'a EmailAddress => |v| Arg::Text(v.as_str().into()),
    &'a DomainName => |v| Arg::Text(v.as_str().into()),
    Timestamp => |v| Arg::Int(v.0),
    ProjectNumber => |v| Arg::Int(v.0),
    Json => |v| Arg::Json(v.to_string().into()),
    &'a Json => |v| Arg::Json(v.to_string().into()),
    &'a serde_json::Map<String, Json> => |v| Arg::Json(json_text(v).into()),
}

/// The JSON text of an object.
pub fn json_text(data: &serde_json::Map<String, Json>) -> String {
    serde_json::to_string(data).unwrap_or_default()
}

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident),+ $(,)?) => { $(
        impl From<ids::$id> for Arg<'_> {
            fn from(v: ids::$id) -> Self {
                Arg::Id(v.into())
            }
        }

        impl Column for ids::$id {
            fn lite(value: ValueRef<'_>, column: usize) -> Result<Self> {
                Uuid::lite(value, column).map(Self::from)
            }

            fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
                Uuid::pg(row, column).map(Self::from)
            }
        }
    )+ };
}

mailwright_core::with_ids!(ids);

impl<'a, T: Into<Arg<'a>>> From<Option<T>> for Arg<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Arg::Null, Into::into)
    }
}

/// The arguments of a statement: `args![project, id, now]`.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::Arg::from($value)),*] };
}

/// A type that a column can be read as.
pub trait Column: Sized {
    /// Reads it from SQLite.
    fn lite(value: ValueRef<'_>, column: usize) -> Result<Self>;
    /// Reads it from PostgreSQL.
    fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self>;
}

fn corrupt(column: usize, expected: &'static str, detail: impl ToString) -> Error {
    Error::Corrupt { column, expected, detail: detail.to_string() }
}

macro_rules! column {
    ($($ty:ty, $expected:literal, |$v:ident| $lite:expr);+ $(;)?) => { $(
        impl Column for $ty {
            fn lite($v: ValueRef<'_>, column: usize) -> Result<Self> {
                $lite.map_err(|e| corrupt(column, $expected, e))
            }

            fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
                row.try_get(column).map_err(|e| corrupt(column, $expected, e))
            }
        }
    )+ };
}

column! {
    i64, "an integer", |v| v.as_i64();
    bool, "a boolean", |v| v.as_i64().map(|n| n != 0);
    String, "text", |v| v.as_str().map(str::to_owned);
    Vec<u8>, "bytes", |v| v.as_blob().map(<[u8]>::to_vec);
}

impl Column for Uuid {
    fn lite(value: ValueRef<'_>, column: usize) -> Result<Self> {
        let bytes = value.as_blob().map_err(|e| corrupt(column, "an id", e))?;
        Self::from_slice(bytes).map_err(|e| corrupt(column, "an id", e))
    }

    fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
        row.try_get(column).map_err(|e| corrupt(column, "an id", e))
    }
}

/// Reads JSONB from the wire.
struct JsonIn(Json);

impl<'a> FromSql<'a> for JsonIn {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(serde_json::from_slice(raw.get(1..).unwrap_or_default())?))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::JSONB
    }
}

/// Reads what a `{json_out column}` selects.
impl Column for Json {
    fn lite(value: ValueRef<'_>, column: usize) -> Result<Self> {
        let text = value.as_str().map_err(|e| corrupt(column, "JSON", e))?;
        serde_json::from_str(text).map_err(|e| corrupt(column, "JSON", e))
    }

    fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
        row.try_get::<_, JsonIn>(column).map(|j| j.0).map_err(|e| corrupt(column, "JSON", e))
    }
}

impl Column for serde_json::Map<String, Json> {
    fn lite(value: ValueRef<'_>, column: usize) -> Result<Self> {
        object(Json::lite(value, column)?, column)
    }

    fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
        object(Json::pg(row, column)?, column)
    }
}

fn object(value: Json, column: usize) -> Result<serde_json::Map<String, Json>> {
    match value {
        Json::Object(map) => Ok(map),
        _ => Err(corrupt(column, "a JSON object", "another JSON value")),
    }
}

macro_rules! through {
    ($($ty:ty, $inner:ty, |$v:ident| $make:expr);+ $(;)?) => { $(
        impl Column for $ty {
            fn lite(value: ValueRef<'_>, column: usize) -> Result<Self> {
                <$inner>::lite(value, column).map(|$v| $make)
            }

            fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
                <$inner>::pg(row, column).map(|$v| $make)
            }
        }
    )+ };
}

through! {
    Timestamp, i64, |v| Timestamp(v);
    ProjectNumber, i64, |v| ProjectNumber(v);
    EmailAddress, String, |v| EmailAddress::from_stored(&v);
}

impl<T: Column> Column for Option<T> {
    fn lite(value: ValueRef<'_>, column: usize) -> Result<Self> {
        if matches!(value, ValueRef::Null) { Ok(None) } else { T::lite(value, column).map(Some) }
    }

    fn pg(row: &tokio_postgres::Row, column: usize) -> Result<Self> {
        struct Present(bool);
        impl<'a> FromSql<'a> for Present {
            fn from_sql(_: &Type, _: &'a [u8]) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
                Ok(Self(true))
            }

            fn from_sql_null(_: &Type) -> std::result::Result<Self, Box<dyn StdError + Sync + Send>> {
                Ok(Self(false))
            }

            fn accepts(_: &Type) -> bool {
                true
            }
        }
        let present: Present = row.try_get(column).map_err(|e| corrupt(column, "a value or null", e))?;
        if present.0 { T::pg(row, column).map(Some) } else { Ok(None) }
    }
}
