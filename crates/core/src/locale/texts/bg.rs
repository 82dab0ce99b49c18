//! Bulgarian.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Получавате този имейл, защото сте се съгласили да получавате имейли от {project}.",
    update_preferences: "Променете предпочитанията си",
    preferences: "Предпочитания за имейли",
    unsubscribe: "Отписване",
    subscribe: "Абониране",
    subscribe_again: "Абониране отново",
    unsubscribe_question: "Искате ли да се отпишете от тези имейли?",
    unsubscribe_explanation: "{email} вече няма да получава маркетингови имейли от {project}.",
    unsubscribed: "Абонаментът ви е прекратен",
    not_subscribed: "Адресът {email} не е абониран за маркетингови имейли от {project}.",
    changed_mind: "Променихте ли решението си?",
    subscribe_question: "Искате ли да се абонирате за тези имейли?",
    subscribe_explanation: "{email} ще получава маркетингови имейли от {project}.",
    subscribed: "Абонаментът ви е активен",
    is_subscribed: "Адресът {email} е абониран за маркетингови имейли от {project}.",
    invalid_link: "Тази връзка не е валидна",
    invalid_link_text: "Може да е непълна или остаряла. Моля, отворете я отново от имейла.",
    failed: "Нещо се обърка",
    failed_text: "Моля, опитайте отново след няколко минути.",
};
