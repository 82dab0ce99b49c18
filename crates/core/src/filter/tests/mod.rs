//! Tests of the filter.
