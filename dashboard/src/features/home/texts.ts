import { number } from '#/i18n/format';
import { texts } from '#/i18n/language';
import type { AttentionItem } from './queries';

/** What needs a person, in words of ours: in a few, and more of it. */
type Words = (item: AttentionItem) => { title: string; detail: string };

const mails = (count: number | null | undefined) => `${number(count ?? 0)} ${count === 1 ? 'Mail' : 'Mails'}`;

/** The kinds in German. What a server, a file or a limit says of itself stays as it is. */
const GERMAN: Record<AttentionItem['kind'], Words> = {
  PROJECT_DISABLED: ({ detail }) => ({
    title: 'Das Projekt ist deaktiviert',
    // behind the sentence that always is there stands the reason
    detail: `Nichts wird gesendet, und nichts kann geändert werden.${detail.slice(detail.indexOf('.') + 1)}`,
  }),
  DOMAIN_UNVERIFIED: ({ name }) => ({
    title: `Die Domain ${name} ist nicht verifiziert`,
    detail: 'Von ihr kann keine Mail gesendet werden. Lege die fehlenden DNS-Einträge an, und verifiziere sie.',
  }),
  NEXT_HOP_TROUBLE: () => ({
    title: 'Der Mailserver nimmt nichts an',
    detail: 'Alle Mails warten und werden gesendet, sobald er sie wieder annimmt. Wer den Dienst betreibt, muss nachsehen.',
  }),
  MAILS_WAIT: ({ count, detail }) => ({ title: count === 1 ? '1 Mail wartet' : `${mails(count)} warten`, detail }),
  HELD_MAILS: ({ count }) => ({
    title: count === 1 ? '1 Mail wird zurückgehalten' : `${mails(count)} werden zurückgehalten`,
    detail: 'Eine Sicherung wurde zurückgespielt, und diese Mails könnten schon gesendet sein. Sie werden gesendet oder verworfen, sobald jemand entscheidet.',
  }),
  MAILS_IN_DOUBT: ({ count }) => ({
    title: `${mails(count)} im Zweifel`,
    detail: 'Der Dienst wurde bei der Übergabe unterbrochen, und niemand weiß, ob sie gesendet wurden. Von selbst werden sie nicht noch einmal gesendet.',
  }),
  CAMPAIGN_PAUSED: ({ name, severity, detail }) => ({
    title: `Die Kampagne ${name} ist angehalten`,
    detail: severity === 'info' ? 'Jemand hat sie angehalten. Setze sie fort, oder brich sie ab.' : detail,
  }),
  CAMPAIGN_FAILURES: ({ name, count }) => ({
    title: `Nicht alle Mails der Kampagne ${name} wurden gesendet`,
    detail: `Bei ${number(count ?? 0)} gelang es nicht, oder niemand weiß es. Sie können noch einmal gesendet werden.`,
  }),
  JOB_FAILED: ({ detail }) => ({ title: 'Ein Vorgang im Hintergrund ist fehlgeschlagen', detail }),
  JOB_DELAYED: ({ detail }) => ({ title: 'Ein Vorgang im Hintergrund verzögert sich', detail }),
  REPUTATION: () => ({
    title: 'Das Projekt könnte deaktiviert werden',
    detail: 'Zu viele Mails kamen zurück oder wurden als Spam gemeldet. Entferne Adressen, die es nicht gibt, und schreibe Personen, die darum gebeten haben.',
  }),
  LIMIT_REACHED: () => ({ title: 'Ein Limit dieses Monats ist erreicht', detail: 'Weitere Mails werden abgelehnt oder warten auf den nächsten Monat.' }),
  LIMIT_NEAR: () => ({ title: 'Ein Limit dieses Monats ist fast erreicht', detail: 'Danach werden Mails abgelehnt oder warten auf den nächsten Monat.' }),
  ADDRESS_UNVERIFIED: () => ({
    title: 'Deine Adresse ist nicht verifiziert',
    detail: 'In deinem Konto steht, was ihr deshalb fehlt und wie du einen Link anforderst.',
  }),
};

/** The service says that a mail was sent, which is not so where it sends none of its own. */
const UNVERIFIED = 'Your account says what it lacks because of that, and how to ask for a link.';

/** The texts of the start page. */
export const t = texts({
  en: {
    title: 'Home',
    attention: 'Needs you',
    calm: 'Nothing needs you right now.',
    more: 'There is more than fits here.',
    // the service's own words are English
    words: ({ kind, title, detail }: AttentionItem) => ({ title, detail: kind === 'ADDRESS_UNVERIFIED' ? UNVERIFIED : detail }),
    severities: { critical: 'Urgent', warning: 'Soon', info: 'To know' },
    look: 'Look at it',
    lastDays: 'The last seven days',
    measures: {
      sent: 'Sent',
      delivered: 'Delivered',
      opens: 'Opened',
      clicks: 'Clicked',
      bounces: 'Bounced',
      unsubscribes: 'Unsubscribed',
    },
    before: (count: number) => `${number(count)} in the seven days before`,
    notReported: 'Your mail server does not report it',
    recent: 'What happened',
    allActivity: 'All activity',
    quiet: 'Nothing has happened yet.',
    analytics: 'All figures',
  },
  de: {
    title: 'Start',
    attention: 'Braucht dich',
    calm: 'Gerade braucht dich nichts.',
    more: 'Es gibt mehr, als hier Platz hat.',
    words: (item: AttentionItem) => GERMAN[item.kind](item),
    severities: { critical: 'Dringend', warning: 'Bald', info: 'Zur Kenntnis' },
    look: 'Ansehen',
    lastDays: 'Die letzten sieben Tage',
    measures: {
      sent: 'Gesendet',
      delivered: 'Zugestellt',
      opens: 'Geöffnet',
      clicks: 'Geklickt',
      bounces: 'Unzustellbar',
      unsubscribes: 'Abgemeldet',
    },
    before: (count: number) => `${number(count)} in den sieben Tagen davor`,
    notReported: 'Dein Mailserver meldet es nicht',
    recent: 'Was geschehen ist',
    allActivity: 'Alle Aktivität',
    quiet: 'Noch ist nichts geschehen.',
    analytics: 'Alle Zahlen',
  },
});
