//! Welsh.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Rydych yn derbyn yr e-bost hwn oherwydd ichi gytuno i dderbyn e-byst gan {project}.",
    update_preferences: "Diweddaru eich dewisiadau",
    preferences: "Dewisiadau e-bost",
    unsubscribe: "Dad-danysgrifio",
    subscribe: "Tanysgrifio",
    subscribe_again: "Tanysgrifio eto",
    unsubscribe_question: "Dad-danysgrifio o’r e-byst hyn?",
    unsubscribe_explanation: "Ni fydd {email} yn derbyn e-byst marchnata gan {project} mwyach.",
    unsubscribed: "Rydych wedi dad-danysgrifio",
    not_subscribed: "Nid yw {email} wedi tanysgrifio i e-byst marchnata gan {project}.",
    changed_mind: "Wedi newid eich meddwl?",
    subscribe_question: "Tanysgrifio i’r e-byst hyn?",
    subscribe_explanation: "Bydd {email} yn derbyn e-byst marchnata gan {project}.",
    subscribed: "Rydych bellach wedi tanysgrifio",
    is_subscribed: "Mae {email} wedi tanysgrifio i e-byst marchnata gan {project}.",
    invalid_link: "Nid yw’r ddolen hon yn ddilys",
    invalid_link_text: "Efallai ei bod yn anghyflawn neu’n hen. Agorwch hi eto o’r e-bost.",
    failed: "Aeth rhywbeth o’i le",
    failed_text: "Rhowch gynnig arall arni ymhen ychydig funudau.",
};
