use mailwright_core::audit::Actor;
use mailwright_core::ids::EmailId;

use super::*;
use crate::body;
use crate::database::db::Db;
use crate::database::location::Location;
use crate::database::metrics::StoreMetrics;
use crate::database::migrate::migrate;
use crate::database::migrate::tests::Database;
use crate::project;
use crate::project::purge;

const NOW: Timestamp = Timestamp(1_741_608_000_000);

fn pause(project: ProjectNumber) -> Intervention {
    Intervention {
        id: InterventionId::new(NOW, rand::random()),
        kind: InterventionKind::Pause,
        scope: Scope { project: Some(project), ..Scope::default() },
        transport: None,
        reason: None,
        created_by: OPERATOR.into(),
        created_name: None,
        created_at: NOW,
        ended_at: None,
    }
}

fn mail(project: ProjectNumber, by: &Intervention) -> Paused {
    let claim = ClaimRef { project, id: EmailId::new(NOW, rand::random()), claim: 1 };
    Paused { claim, by: by.id, until: NOW, why: "It was paused.".into() }
}

async fn ids(rx: &mut Rx<'_>, project: ProjectNumber) -> Result<Vec<InterventionId>> {
    let all = all(rx, 10).await?.into_iter();
    Ok(all.filter(|one| one.scope.project == Some(project)).map(|one| one.id).collect())
}

#[tokio::test]
async fn what_holds_for_a_project_holds_after_a_reset_and_is_gone_with_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("interventions.sqlite"));
    let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
    let database = Database::create("interventions");
    for db in [sqlite, database.open()] {
        migrate(&db, NOW).await.unwrap();
        let done = db.write(body!(async |tx| {
            let old = project::create(tx, "Acme", "en", NOW).await?.number;
            let other = project::create(tx, "Other", "en", NOW).await?.number;
            let (of_old, of_other) = (pause(old), pause(other));
            add(tx, &of_old).await?;
            add(tx, &of_other).await?;
            let before = mark(tx).await?;
            let new = purge::reset(tx, old, NOW).await?;
            assert_eq!((ids(tx, old).await?, ids(tx, new).await?), (vec![], vec![of_old.id]));
            assert_ne!(mark(tx).await?, before, "processes would not look anew");

            let before = mark(tx).await?;
            // by a clock that is behind the one by which the others began
            assert!(end(tx, of_other.id, Timestamp(NOW.0 - 1)).await?);
            assert_ne!(mark(tx).await?, before, "processes would not look anew");

            purge::delete(tx, new, &Actor::Operator, NOW).await?;
            assert_eq!((ids(tx, new).await?, ids(tx, other).await?), (vec![], vec![of_other.id]));

            // a request was under way, and a project is forgotten by now
            let gone = [pause(new), pause(ProjectNumber(other.0 + 100))];
            let everywhere = Scope { site: Some("site.test".into()), ..Scope::default() };
            let of_site = Intervention { scope: everywhere, ..pause(other) };
            for one in gone.iter().chain([&of_site]) {
                add(tx, one).await?;
            }
            super::pause(tx, &[mail(new, &gone[0])], NOW).await?;
            let mut found = of_deleted(tx, 10).await?;
            found.sort_unstable();
            let mut expected = gone.each_ref().map(|one| one.id);
            expected.sort_unstable();
            assert_eq!(found, expected);
            assert_eq!(of_deleted(tx, 1).await?.len(), 1);
            remove(tx, &found).await?;
            assert_eq!(
                (of_deleted(tx, 10).await?, projects(tx, gone[0].id, old, 10).await?),
                (vec![], vec![])
            );
            let left: Vec<_> = all(tx, 10).await?.into_iter().map(|one| one.id).collect();
            assert!(left.len() == 2 && left.contains(&of_other.id) && left.contains(&of_site.id), "{left:?}");
            Ok::<_, Error>(())
        }));
        done.await.unwrap();
    }
}

#[tokio::test]
async fn what_has_ended_takes_no_room_of_what_is_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let location = Location::Sqlite(folder.path().join("ended.sqlite"));
    let sqlite = Db::open(&location, StoreMetrics::default()).unwrap();
    let database = Database::create("ended");
    for db in [sqlite, database.open()] {
        migrate(&db, NOW).await.unwrap();
        let done = db.write(body!(async |tx| {
            let project = project::create(tx, "Acme", "en", NOW).await?.number;
            let own = |id: [u8; 10]| Intervention {
                id: InterventionId::new(NOW, id),
                created_by: "key".into(),
                ..pause(project)
            };
            let (ended, holds) = (own([1; 10]), own([2; 10]));
            let (of_operator, over) = (pause(project), pause(project));
            for one in [&ended, &holds, &of_operator, &over] {
                add(tx, one).await?;
            }
            for one in [&ended, &over] {
                assert!(end(tx, one.id, NOW).await?);
            }
            assert_eq!((counts(tx).await?, ended_of_project(tx, project).await?), ((1, 1), 2));
            let found: Vec<_> = of_project(tx, project, 10).await?.into_iter().map(|one| one.id).collect();
            assert!(
                found.len() == 2 && found.contains(&holds.id) && found.contains(&of_operator.id),
                "{found:?}"
            );
            // where there is no room for all, those in force are known
            let known = all(tx, 2).await?;
            assert!(known.len() == 2 && known.iter().all(|one| one.ended_at.is_none()), "{known:?}");
            Ok::<_, Error>(())
        }));
        done.await.unwrap();
    }
}
