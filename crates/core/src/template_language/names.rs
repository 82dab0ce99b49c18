//! The names a program uses, numbered, so that rendering finds a template's own variables by index.

use std::collections::HashMap;

/// The number of a name in its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol(pub(super) usize);

/// A name and what the program does with it.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) text: Box<str>,
    /// Looked up at a place where the template has not given it a value itself.
    pub(super) free: bool,
    /// How many definitions (`assign`, `capture`, `for`) cover the place being parsed.
    bound: usize,
}

/// The table of names while a program is being parsed.
#[derive(Debug, Default)]
pub(super) struct Names {
    list: Vec<Name>,
    index: HashMap<Box<str>, usize>,
    defines: bool,
}

impl Names {
    /// Notes that the program looks `name` up.
    pub(super) fn used(&mut self, name: &str) -> Symbol {
        let symbol = self.symbol(name);
        let entry = &mut self.list[symbol.0];
        entry.free |= entry.bound == 0;
        symbol
    }

    /// Notes that the program gives `name` a value from here on.
    pub(super) fn bind(&mut self, name: &str) -> Symbol {
        self.defines = true;
        let symbol = self.symbol(name);
        self.list[symbol.0].bound += 1;
        symbol
    }

    /// Ends the definition that [`Names::bind`] began.
    pub(super) fn unbind(&mut self, symbol: Symbol) {
        let bound = &mut self.list[symbol.0].bound;
        *bound = bound.saturating_sub(1);
    }

    /// Whether the program defines any name itself.
    pub(super) fn defines(&self) -> bool {
        self.defines
    }

    /// The finished table.
    pub(super) fn into_list(self) -> Box<[Name]> {
        self.list.into()
    }

    fn symbol(&mut self, name: &str) -> Symbol {
        if let Some(&at) = self.index.get(name) {
            return Symbol(at);
        }
        let at = self.list.len();
        self.list.push(Name { text: name.into(), free: false, bound: 0 });
        self.index.insert(name.into(), at);
        Symbol(at)
    }
}
