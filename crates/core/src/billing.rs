//! What is counted of a project's mail for those who pay for it: categories, months and limits.

use crate::email::EmailSource;
use crate::names::names_in_json;
use crate::template::TemplateType;

names_in_json! {
    /// What a limit is for.
    #[derive(PartialOrd, Ord)]
    pub enum Category {
        /// Mails of workflows.
        Workflows = "workflows",
        /// Mails of campaigns.
        Campaigns = "campaigns",
        /// Mails of `/v1/send`, and those of workflows and campaigns whose type is TRANSACTIONAL.
        Transactional = "transactional",
        /// Mails that came in.
        Inbound = "inbound",
    }
}

/// A number for each category.
pub type Figures = [i64; Category::ALL.len()];

/// The share of a limit from which its project is warned, in percent.
pub const WARNING_PERCENT: i64 = 80;

impl Category {
    /// The category of a mail (reference 5.2).
    pub fn of(source: EmailSource, kind: TemplateType) -> Self {
        match source {
            EmailSource::Inbound => Self::Inbound,
            _ if kind == TemplateType::Transactional => Self::Transactional,
            EmailSource::Transactional => Self::Transactional,
            EmailSource::Campaign => Self::Campaigns,
            EmailSource::Workflow => Self::Workflows,
        }
    }

    /// Its place in [`Figures`].
    pub const fn place(self) -> usize {
        self as usize
    }
}

/// How many mails a project may have in a month; `None` for any number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// For each category alone.
    pub of_category: [Option<i64>; Category::ALL.len()],
    /// For all categories together.
    pub shared: Option<i64>,
}

impl Limits {
    /// Whether there is any.
    pub fn is_any(&self) -> bool {
        self.shared.is_some() || self.of_category.iter().any(Option::is_some)
    }

    /// How many more mails of a category may be accepted after `used` ones; `None` for any number.
    pub fn room(&self, category: Category, used: &Figures) -> Option<i64> {
        let own = self.of_category[category.place()].map(|limit| limit - used[category.place()]);
        let shared = self.shared.map(|limit| limit - used.iter().sum::<i64>());
        let room = match (own, shared) {
            (Some(own), Some(shared)) => Some(own.min(shared)),
            (own, shared) => own.or(shared),
        };
        room.map(|room| room.max(0))
    }

    /// The limit that is shown for a category, and what counts for it.
    pub fn shown(&self, category: Category, used: &Figures) -> (Option<i64>, i64) {
        match (self.of_category[category.place()], self.shared) {
            (None, Some(shared)) => (Some(shared), used.iter().sum()),
            (own, _) => (own, used[category.place()]),
        }
    }
}

/// How much of a limit is used, in percent; 0 where there is none.
pub fn percent(limit: Option<i64>, used: i64) -> f64 {
    match limit {
        None => 0.0,
        Some(limit) if limit <= 0 => 100.0,
        Some(limit) => (used as f64 * 10_000.0 / limit as f64).round() / 100.0,
    }
}

/// Whether a limit is so far used that its project is warned.
pub fn is_warning(limit: i64, used: i64) -> bool {
    used.saturating_mul(100) >= limit.saturating_mul(WARNING_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_of_a_transactional_template_is_transactional() {
        for (source, kind, category) in [
            (EmailSource::Transactional, TemplateType::Marketing, Category::Transactional),
            (EmailSource::Campaign, TemplateType::Marketing, Category::Campaigns),
            (EmailSource::Campaign, TemplateType::Headless, Category::Campaigns),
            (EmailSource::Workflow, TemplateType::Marketing, Category::Workflows),
            (EmailSource::Workflow, TemplateType::Transactional, Category::Transactional),
            (EmailSource::Inbound, TemplateType::Transactional, Category::Inbound),
        ] {
            assert_eq!(Category::of(source, kind), category, "{source} {kind}");
        }
    }

    #[test]
    fn the_tighter_limit_holds() {
        let none = Limits::default();
        assert_eq!(none.room(Category::Inbound, &[9, 9, 9, 9]), None);
        let shared = Limits { shared: Some(10), ..none };
        assert_eq!(shared.room(Category::Inbound, &[1, 2, 3, 0]), Some(4));
        assert_eq!(shared.room(Category::Workflows, &[10, 2, 3, 0]), Some(0), "never below nothing");
        assert_eq!(shared.shown(Category::Inbound, &[1, 2, 3, 0]), (Some(10), 6));
        let both = Limits { of_category: [Some(2), None, None, None], ..shared };
        assert_eq!(both.room(Category::Workflows, &[1, 0, 0, 0]), Some(1));
        assert_eq!(both.room(Category::Workflows, &[1, 0, 9, 0]), Some(0));
        assert_eq!(both.shown(Category::Workflows, &[1, 0, 9, 0]), (Some(2), 1));
    }

    #[test]
    fn a_warning_comes_at_eighty_percent() {
        assert!(!is_warning(10, 7) && is_warning(10, 8) && is_warning(1, 1));
        assert!(is_warning(3, 3) && !is_warning(3, 2));
        assert!((percent(Some(8), 1) - 12.5).abs() < f64::EPSILON);
        assert!((percent(None, 5)).abs() < f64::EPSILON);
    }
}
