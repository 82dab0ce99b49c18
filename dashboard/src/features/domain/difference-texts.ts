import type { Schemas } from '#/api/client';
import { texts } from '#/i18n/language';

type DnsRecord = Schemas['RecordView'];
type Kind = NonNullable<DnsRecord['differenceKind']>;
/** A sentence about a record. `value` gives what the service tells by a name. */
type Say = (record: DnsRecord, value: (name: string) => string) => string;

const WRITE = 'Schreibe den Wert, der hier steht.';
const IN_PIECES = 'Schreibe ihn ganz: Wo der DNS-Dienst lange Werte nicht selbst teilt, in Stücken von höchstens 255 Zeichen, jedes in Anführungszeichen.';

/** What follows from several records of a purpose. */
const SEVERAL: Partial<Record<DnsRecord['purpose'], string>> = {
  dkim: 'Empfänger nehmen dann irgendeinen oder keinen davon',
  spf: 'Empfänger beachten dann keinen davon',
  dmarc: 'Empfänger beachten dann keinen davon',
  mta_sts: 'Absender nehmen dann an, dass es keine Richtlinie gibt',
  tls_reports: 'Absender schicken dann keine Berichte',
  bimi: 'Mailprogramme zeigen dann kein Logo',
};

const several: Say = ({ purpose }, value) => {
  const then = SEVERAL[purpose];
  const contains = value('mechanisms') && ` Er muss ${value('mechanisms')} enthalten und was in den anderen steht.`;
  return `Es gibt ${value('count')} Einträge${then ? `, ${then}` : ''}. Lass einen stehen.${contains}`;
};

/** What to write instead of an SPF record. */
const instead: Say = (_, value) => {
  const lookUps = value('lookUps');
  const tooMany = lookUps && ` Er hat ${lookUps} Angaben, die Empfänger nachschlagen, und mehr als 10 lehnen sie ab: Nimm heraus, was niemand braucht.`;
  return `Schreibe stattdessen: ${value('instead')}${tooMany}`;
};

/** What differs in a record, in German. */
const GERMAN: Readonly<Record<Kind, Say>> = {
  unavailable: ({ name }) => `Der Nameserver hat zu ${name} nicht geantwortet, deshalb ist über den Eintrag nichts bekannt. Bei der nächsten Prüfung wird er wieder gesucht. Bleibt es so, sieh nach, ob die Nameserver der Domain antworten.`,
  missing: ({ type, name }) => `Unter ${name} gibt es keinen Eintrag vom Typ ${type}. Lege ihn mit dem Wert an, der hier steht. Es kann eine Stunde oder länger dauern, bis ein neuer Eintrag gefunden wird.`,
  doubled: (_, value) => `Der Eintrag steht unter ${value('at')}: Der DNS-Dienst hängt die Domain selbst an jeden Namen. Gib dort ${value('enter')} als Namen ein.`,
  wrapped: () => 'Im Wert stehen Anführungszeichen oder Backslashes, die zu den Dateien mancher DNS-Server gehören. Gib ihn ohne sie ein.',
  key_alone: (_, value) => `Im Eintrag steht nur der Schlüssel. Der Wert muss mit ${value('begin')} beginnen und den Schlüssel nach p= haben.`,
  no_key: (_, value) => `Was unter dem Namen steht, ist kein Schlüssel, denn p= fehlt: ${value('found')}. Der Wert muss mit ${value('begin')} beginnen.`,
  unread: (_, value) => `Was unter dem Namen steht, beginnt nicht mit ${value('begin')}, deshalb lesen Empfänger es nicht: ${value('found')}. ${WRITE}`,
  several,
  other: () => `Der Eintrag hat einen anderen Wert. ${WRITE}`,
  elsewhere: (record, value) => `${record.name} führt zu ${value('found')} und muss zu ${record.value} führen.`,
  with_domain: (_, value) => `Der Eintrag führt zu ${value('found')}: Der DNS-Dienst hat die Domain an den Wert gehängt. Gib ihn mit einem Punkt am Ende ein: ${value('enter')}`,
  null_mx: (record) => `${record.name} sagt, dass es keine Mails annimmt (ein leerer MX-Eintrag). Sollen seine Mails hierher kommen, setze ${record.value} an dessen Stelle.`,
  other_mx: (record, value) => `Mails für ${record.name} gehen zu ${value('found')}. Nur wenn sie stattdessen hierher kommen sollen, setze ${record.value} an diese Stelle.`,
  key_withdrawn: () => `Der Eintrag sagt, dass der Schlüssel zurückgezogen ist, denn nach p= steht nichts. ${WRITE}`,
  key_kind: (_, value) => `Im Eintrag steht ein Schlüssel der Art ${value('found')}, und dieser ist von der Art ${value('wanted')}: Es ist der Wert eines anderen Eintrags.`,
  key_version: () => `Der Schlüssel stimmt, aber der Eintrag beginnt nicht mit v=DKIM1, deshalb lesen Empfänger ihn nicht. ${WRITE}`,
  key_hash: (_, value) => `Der Schlüssel stimmt, aber ${value('found')} erlaubt keine Signaturen mit SHA-256. Lass ${value('found')} weg.`,
  key_service: (_, value) => `Der Schlüssel stimmt, aber ${value('found')} sagt, dass er nicht für Mails ist. Lass ${value('found')} weg.`,
  key_cut: (_, value) => `Der Wert wurde nach ${value('characters')} Zeichen abgeschnitten: Mehr fasst ein Stück eines TXT-Eintrags nicht. ${IN_PIECES}`,
  key_incomplete: (_, value) => `Der Schlüssel endet nach ${value('characters')} von ${value('wanted')} Zeichen. ${IN_PIECES}`,
  key_longer: (_, value) => `Nach dem Schlüssel stehen noch ${value('characters')} Zeichen. Schreibe den Wert, der hier steht, und nichts danach.`,
  key_case: () => 'Der Schlüssel hat andere Groß- und Kleinbuchstaben, und auf die kommt es an. Kopiere den Wert noch einmal, wie er ist.',
  key_other: (_, value) => `Im Eintrag steht ein anderer Schlüssel, der sich ab dem Zeichen ${value('position')} unterscheidet. Vielleicht ist es der eines früheren Eintrags oder einer anderen Domain. ${WRITE}`,
  spf_lacks: (record, value) => `Im Eintrag fehlt ${value('wanted')}. ${instead(record, value)}`,
  spf_behind_all: (record, value) => `${value('wanted')} steht hinter all, und was dort steht, beachten Empfänger nicht. ${instead(record, value)}`,
  spf_refuses: (record, value) => `${value('found')} lässt die Mails nicht durch. Es muss ${value('wanted')} heißen. ${instead(record, value)}`,
  dmarc_version: (_, value) => `Der Eintrag beginnt mit ${value('found')}. Empfänger lesen ihn nur, wenn er mit v=DMARC1 beginnt, genau so geschrieben.`,
  dmarc_no_policy: () => 'Im Eintrag fehlt p, deshalb sagt er nichts. Ergänze p=none, p=quarantine oder p=reject.',
  dmarc_policy: (_, value) => `Im Eintrag steht ${value('found')}, was Empfänger nicht kennen. Es muss none, quarantine oder reject sein.`,
  mta_sts_no_id: () => `Im Eintrag fehlt eine id aus 1 bis 32 Buchstaben und Ziffern, deshalb lesen Absender ihn nicht. ${WRITE}`,
  mta_sts_id: (_, value) => `Im Eintrag steht die id ${value('found')}, und die der Richtlinie ist ${value('wanted')}. Absender, die eine frühere Richtlinie behalten haben, bemerken eine neue nur an ihrer id. ${WRITE}`,
  reports_address: (_, value) => `An ${value('found')} kann kein Bericht gehen. In rua muss mailto: mit einer Adresse stehen oder eine Adresse, die mit https:// beginnt.`,
  reports_nowhere: () => `Der Eintrag sagt nicht, wohin Berichte gehen. ${WRITE}`,
  logo_address: (_, value) => `Das Logo steht unter ${value('found')}, und die Adresse muss mit https:// beginnen.`,
  no_logo: () => 'Der Eintrag sagt nicht, wo das Logo ist. Ergänze l= mit dessen Adresse, die mit https:// beginnt.',
};

/** What the service says. */
const said = (record: DnsRecord): string => record.difference ?? '';

function inGerman(record: DnsRecord): string {
  const kind = record.differenceKind;
  if (!kind || !Object.hasOwn(GERMAN, kind)) return said(record);
  return GERMAN[kind](record, (name) => record.differenceDetails?.[name] ?? '');
}

/** What differs in a record, and what to do about it, in words. */
export const t = texts({
  // the service's own words are English
  en: { words: said },
  de: { words: inGerman },
});
