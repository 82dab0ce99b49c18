//! Polish.

use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    footer_reason: "Otrzymujesz tę wiadomość, ponieważ wyrażono zgodę na otrzymywanie wiadomości e-mail od nadawcy {project}.",
    update_preferences: "Zmień preferencje",
    preferences: "Preferencje e-mail",
    unsubscribe: "Wypisz się",
    subscribe: "Zapisz się",
    subscribe_again: "Zapisz się ponownie",
    unsubscribe_question: "Czy chcesz wypisać się z listy odbiorców?",
    unsubscribe_explanation: "Na adres {email} nie będą już przychodzić wiadomości marketingowe od nadawcy {project}.",
    unsubscribed: "Wypisano z listy odbiorców",
    not_subscribed: "Adres {email} nie jest zapisany na wiadomości marketingowe od nadawcy {project}.",
    changed_mind: "Chcesz zmienić decyzję?",
    subscribe_question: "Czy chcesz zapisać się na listę odbiorców?",
    subscribe_explanation: "Na adres {email} będą przychodzić wiadomości marketingowe od nadawcy {project}.",
    subscribed: "Zapisano na listę odbiorców",
    is_subscribed: "Adres {email} jest zapisany na wiadomości marketingowe od nadawcy {project}.",
    invalid_link: "Ten link jest nieprawidłowy",
    invalid_link_text: "Może być niekompletny lub nieaktualny. Otwórz go ponownie z wiadomości e-mail.",
    failed: "Coś poszło nie tak",
    failed_text: "Spróbuj ponownie za kilka minut.",
};
