import { number, plural } from '#/i18n/format';
import { texts } from '#/i18n/language';

/** The texts of events' names. */
export const t = texts({
  en: {
    events: 'Events',
    eventsText: 'What contacts did, by name. Workflows begin with events, and segments ask for them.',
    none: 'No events yet',
    noneText: 'Track the first one: “API” has the code for it.',
    noMatch: 'No event matches.',
    search: 'Search events',
    name: 'Event',
    count: 'Times',
    actions: 'Actions',
    usage: 'Usage',
    usageOf: (name: string) => `Usage of ${name}`,
    happened: (total: number, contacts: number) =>
      `Happened ${plural(total, { one: 'once', other: `${number(total)} times` })}, with ${plural(contacts, { one: '1 contact', other: `${number(contacts)} different contacts` })}.`,
    ofService: 'The service records these events itself. They cannot be deleted.',
    close: 'Close',
    delete: 'Delete the events',
    deleteQuestion: (name: string) => `Delete all events “${name}”?`,
    deleteText: (total: number) =>
      `${plural(total, { one: '1 event is', other: `${number(total)} events are` })} deleted. Conditions that ask for them match nobody any more. This cannot be undone.`,
    deleted: (name: string, count: number) =>
      `“${name}”: ${plural(count, { one: '1 event was', other: `${number(count)} events were` })} deleted.`,
    more: (count: string) => `${count} match. Search to see the others.`,
  },
  de: {
    events: 'Ereignisse',
    eventsText: 'Was Kontakte getan haben, nach Namen. Workflows beginnen mit Ereignissen, und Segmente fragen nach ihnen.',
    none: 'Noch keine Ereignisse',
    noneText: 'Melde das erste: Den Code dafür hat „API“.',
    noMatch: 'Kein Ereignis passt.',
    search: 'Ereignisse suchen',
    name: 'Ereignis',
    count: 'Anzahl',
    actions: 'Aktionen',
    usage: 'Verwendung',
    usageOf: (name: string) => `Verwendung von ${name}`,
    happened: (total: number, contacts: number) =>
      `${plural(total, { one: 'Einmal', other: `${number(total)}-mal` })} geschehen, bei ${plural(contacts, { one: 'einem Kontakt', other: `${number(contacts)} verschiedenen Kontakten` })}.`,
    ofService: 'Diese Ereignisse meldet der Dienst selbst. Sie lassen sich nicht löschen.',
    close: 'Schließen',
    delete: 'Ereignisse löschen',
    deleteQuestion: (name: string) => `Alle Ereignisse „${name}“ löschen?`,
    deleteText: (total: number) =>
      `${plural(total, { one: '1 Ereignis wird', other: `${number(total)} Ereignisse werden` })} gelöscht. Bedingungen, die nach ihnen fragen, treffen auf niemanden mehr zu. Das lässt sich nicht rückgängig machen.`,
    deleted: (name: string, count: number) =>
      `„${name}“: ${plural(count, { one: '1 Ereignis wurde', other: `${number(count)} Ereignisse wurden` })} gelöscht.`,
    more: (count: string) => `${count} passen. Such nach den übrigen.`,
  },
});
