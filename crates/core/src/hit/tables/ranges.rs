//! Ranges of addresses that do not overlap, for binary search.

/// A kind of number that addresses are.
pub(super) trait Bits: Copy + Ord {
    /// The number after this one, unless it is the last.
    fn next(self) -> Option<Self>;
    /// The number before this one, unless it is the first.
    fn before(self) -> Option<Self>;
}

macro_rules! bits {
    ($kind:ty) => {
        impl Bits for $kind {
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            fn before(self) -> Option<Self> {
                self.checked_sub(1)
            }
        }
    };
}

bits!(u32);
bits!(u128);

/// Ranges, ascending. Three lists, since a list of triples would take nearly half as much memory again.
#[derive(Debug)]
pub(super) struct Ranges<T> {
    firsts: Vec<T>,
    lasts: Vec<T>,
    what: Vec<u16>,
}

impl<T: Bits> Ranges<T> {
    /// From networks (first address, last address, what it is), which lie within each other or apart. The smallest
    /// holds; of equal ones, the later.
    pub(super) fn new(mut networks: Vec<(T, T, u16)>) -> Self {
        // the wider first; the sort is stable, so the later of equal ones comes later, and covers the earlier
        networks.sort_by_key(|&(first, last, _)| (first, std::cmp::Reverse(last)));
        let mut found = Self { firsts: Vec::new(), lasts: Vec::new(), what: Vec::new() };
        // the networks around the current place, the smallest last, and the first address that is not placed yet
        let mut around: Vec<(T, u16)> = Vec::new();
        let mut place = None;
        for (first, last, what) in networks {
            while let Some(&(end, of)) = around.last()
                && end < first
            {
                around.pop();
                place = found.push(place, Some(end), of);
            }
            if let Some(&(_, of)) = around.last() {
                found.push(place, first.before(), of);
            }
            place = Some(first);
            around.push((last, what));
        }
        while let Some((end, of)) = around.pop() {
            place = found.push(place, Some(end), of);
        }
        found.firsts.shrink_to_fit();
        found.lasts.shrink_to_fit();
        found.what.shrink_to_fit();
        found
    }

    /// Adds a range unless it is empty; joins it to the one before when that ends there and is the same. Says where
    /// the next begins.
    fn push(&mut self, first: Option<T>, last: Option<T>, what: u16) -> Option<T> {
        let (Some(first), Some(last)) = (first, last) else { return first };
        if first > last {
            return Some(first);
        }
        match self.lasts.last_mut() {
            Some(end) if end.next() == Some(first) && self.what.last() == Some(&what) => *end = last,
            _ => {
                self.firsts.push(first);
                self.lasts.push(last);
                self.what.push(what);
            }
        }
        last.next()
    }

    /// What holds at an address.
    pub(super) fn find(&self, address: T) -> Option<u16> {
        let index = self.firsts.partition_point(|&first| first <= address).checked_sub(1)?;
        (*self.lasts.get(index)? >= address).then(|| self.what.get(index).copied())?
    }

    /// How many bytes the lists take.
    pub(super) fn bytes(&self) -> usize {
        size_of::<T>() * (self.firsts.capacity() + self.lasts.capacity())
            + size_of::<u16>() * self.what.capacity()
    }
}
