import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Service } from '../browser/service.ts';
import { BOOKING, type Mail, RECEIPT, STEPS, WELCOME } from './mails.ts';
import { chance, somebody } from './people.ts';
import { FERNWAY, FROM, type Story } from './story.ts';
import { Time } from './time.ts';

const MAILS: readonly Mail[] = [BOOKING, RECEIPT, BOOKING, WELCOME, BOOKING, STEPS, BOOKING, BOOKING, RECEIPT, BOOKING, WELCOME];

/** The same company before it has a mail server: its mails are kept in the mailbox. */
export async function captured(): Promise<Pick<Story, 'service' | 'time' | 'stop'>> {
  const time = new Time(join(tmpdir(), `mailwright-clock-captured-${process.pid}`), 0);
  const service = await Service.start({ ...time.settings, MAILWRIGHT_LOG: 'error' }, FERNWAY);
  const templates = new Map<Mail, string>();
  for (const mail of new Set(MAILS)) {
    const body = { name: mail.subject, type: 'TRANSACTIONAL', ...FROM, ...mail };
    templates.set(mail, (await service.api('POST', '/templates', { body })).id);
  }
  for (const [number, mail] of MAILS.entries()) {
    const { email, data } = somebody(number + 40);
    const values = { ...data, class: `${data.kind} for beginners`, day: 'Thursday', month: 'November', amount: '€29.00' };
    await service.api('POST', '/v1/send', { body: { to: { email, name: `${data.firstName} ${data.lastName}` }, template: templates.get(mail), data: values } });
    await service.until('it is captured', async () => (await service.api('GET', '/mailbox?limit=100')).data.length > number);
    await time.moveTo(time.now() + (2 + 25 * chance(number, 80)) * 60_000);
  }
  return { service, time, stop: () => service.stop() };
}
