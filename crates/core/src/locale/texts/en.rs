//! English.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "You receive this email because you agreed to receive emails from {project}.",
    update_preferences: "Update your preferences",
    preferences: "Email preferences",
    unsubscribe: "Unsubscribe",
    subscribe: "Subscribe",
    subscribe_again: "Subscribe again",
    unsubscribe_question: "Unsubscribe from these emails?",
    unsubscribe_explanation: "{email} will no longer receive marketing emails from {project}.",
    unsubscribed: "You have been unsubscribed",
    not_subscribed: "{email} is not subscribed to marketing emails from {project}.",
    changed_mind: "Changed your mind?",
    subscribe_question: "Subscribe to these emails?",
    subscribe_explanation: "{email} will receive marketing emails from {project}.",
    subscribed: "You are now subscribed",
    is_subscribed: "{email} is subscribed to marketing emails from {project}.",
    invalid_link: "This link is not valid",
    invalid_link_text: "It may be incomplete or out of date. Please open it again from the email.",
    failed: "Something went wrong",
    failed_text: "Please try again in a few minutes.",
};
