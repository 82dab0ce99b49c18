//! Lists that a filter narrows down, in every order and with what else narrows them down.

use mailwright_core::contact::Contact;
use mailwright_core::filter::Filter;
use mailwright_core::ids::{ContactId, ProjectNumber};
use mailwright_store::audience::contact::{List, Sort};
use mailwright_store::audience::filter::{self, Segments};
use mailwright_store::{Db, body};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::{Case, NOW};

/// The first page of each list, the page after its first contact, and the total, given who meets the filter.
pub(super) async fn agree(
    db: &Db,
    project: ProjectNumber,
    tree: &Filter,
    segments: &Segments,
    case: &Case,
    (members, turn): (&[ContactId], usize),
) -> Result<(), TestCaseError> {
    let contacts = case.people.iter().map(|person| &person.contact);
    let met: Vec<&Contact> = contacts.filter(|contact| members.contains(&contact.id)).collect();
    // a part of an address that some have, and one of a single address
    let part = met.first().map(|contact| contact.email.as_str().chars().take(2).collect::<String>());
    let whole = met.last().map(|contact| contact.email.as_str().to_owned());
    let narrowing = [(None, None), (None, Some(true)), (part, None), (whole, Some(false))];
    let orders =
        [(Sort::Email, false), (Sort::CreatedAt, true), (Sort::Email, true), (Sort::CreatedAt, false)];
    // each filter is combined with a few of them, all together with all
    for turn in [turn, turn + 5] {
        let ((search, subscribed), (sort, descending)) = (narrowing[turn % 4].clone(), orders[turn / 4 % 4]);
        let is_listed = |contact: &&Contact| {
            search.as_ref().is_none_or(|text| contact.email.as_str().contains(text))
                && subscribed.is_none_or(|subscribed| contact.subscribed == subscribed)
        };
        let mut wanted: Vec<&Contact> = met.iter().copied().filter(is_listed).collect();
        match sort {
            Sort::Email => wanted.sort_by(|a, b| a.email.as_str().cmp(b.email.as_str())),
            Sort::CreatedAt => wanted.sort_by_key(|contact| contact.id),
        }
        if descending {
            wanted.reverse();
        }
        let ids: Vec<_> = wanted.iter().map(|contact| contact.id).collect();
        let list = List { limit: 100, after: None, search, holding: None, subscribed, sort, descending };
        let next = List { limit: 2, after: ids.first().copied(), ..list.clone() };
        let said = format!("{list:?}");
        let (first, second, total) = read(db, project, (tree, segments), [list, next]).await;
        prop_assert_eq!(total, ids.len() as i64, "{}", said);
        prop_assert_eq!(&first, &ids, "{}", said);
        if !ids.is_empty() {
            prop_assert_eq!(&second[..], &ids[1..ids.len().min(3)], "{}", said);
        }
    }
    Ok(())
}

async fn read(
    db: &Db,
    project: ProjectNumber,
    (tree, segments): (&Filter, &Segments),
    [list, next]: [List; 2],
) -> (Vec<ContactId>, Vec<ContactId>, i64) {
    let (tree, segments) = (tree.clone(), segments.clone());
    let read = db.read(body!(async |rx| {
        let ids = |contacts: Vec<Contact>| contacts.into_iter().map(|c| c.id).collect::<Vec<_>>();
        let first = filter::list(rx, project, &tree, &segments, NOW, &list).await?;
        let second = filter::list(rx, project, &tree, &segments, NOW, &next).await?;
        let total = filter::total(rx, project, &tree, &segments, NOW, &list).await?;
        Ok((ids(first), ids(second), total))
    }));
    read.await.unwrap()
}
