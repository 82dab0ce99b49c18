import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Relay } from '../browser/relay.ts';
import { Service } from '../browser/service.ts';
import { AUTUMN, BOOKING, LIVE, type Mail, NEWS, RECEIPT, STEPS, TIPS, WELCOME } from './mails.ts';
import { chance, somebody } from './people.ts';
import { Time } from './time.ts';

/** Who the company is. */
export const FERNWAY = { owner: { email: 'ines@fernway.example', password: 'a studio with a view' }, project: 'Fernway', domain: 'fernway.example' };
const DAY = 86_400_000;
/** How long the story is, in days. */
const DAYS = 28;
/** Who is there when it begins, and who joins each day. */
const FIRST_PEOPLE = 260;
const JOIN = 6;
export const FROM = { from: 'hello@fernway.example', fromName: 'Fernway' };
const BROWSERS = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36',
];

/** What the pictures are made of. */
export interface Story {
  service: Service;
  time: Time;
  ids: { segment: string; template: string; campaign: string; workflow: string; contact: string };
  stop: () => Promise<void>;
}

/** Four weeks of a company that rents out software for the bookings of studios, as the service sees them. */
export async function story(): Promise<Story> {
  const names = await nameServer();
  const readers = new Readers();
  let isBusy = false;
  const relay = new Relay((recipient) => answerTo(recipient, isBusy), (to, mail) => readers.got(to, mail));
  const now = new Date();
  // the story begins in the morning
  const morning = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + 1, 7);
  const time = new Time(join(tmpdir(), `mailwright-clock-${process.pid}`), morning - Date.now());
  const service = await Service.start(
    { ...time.settings, MAILWRIGHT_TRANSPORT: await relay.start(), MAILWRIGHT_TRACKING_SETTLE_MS: '0', MAILWRIGHT_DNS_SERVER: names.address, MAILWRIGHT_LOG: 'warn' },
    FERNWAY,
  );
  const stop = async () => {
    await service.stop();
    relay.stop();
    names.stop();
  };
  try {
    const told = new Telling(service, time, readers, morning);
    const ids = await told.begin();
    for (let day = 0; day < DAYS; day += 1) {
      console.error(`  day ${day + 1} of ${DAYS}`);
      isBusy = day === DAYS - 1;
      await told.tell(day);
    }
    return { service, time, ids: { ...ids, campaign: told.campaign, contact: await told.regular() }, stop };
  } catch (error) {
    console.error(await service.log());
    await stop();
    throw error;
  }
}

/** Some addresses do not exist, and on the last day one provider is busy. */
function answerTo(recipient: string, isBusy: boolean): string | undefined {
  if (isBusy && recipient.endsWith('@mailhaus.example')) return '451 4.7.1 Too many messages, try again later';
  const number = [...recipient].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  return number % 61 === 0 ? '550 5.1.1 The account does not exist' : undefined;
}

/** A name server that knows no name, so that nothing is asked of the real ones. */
async function nameServer(): Promise<{ address: string; stop: () => void }> {
  const socket = createSocket('udp4');
  socket.on('message', (asked, from) => {
    const answer = Buffer.from(asked);
    answer.writeUInt16BE(0x8183, 2);
    answer.writeUInt16BE(0, 10);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, stop: () => socket.close() };
}

/** Those who get the mails: some open them, some follow a link, one by one, some hours later. */
class Readers {
  #unread: { to: string; mail: string }[] = [];
  #count = 0;

  got(to: string, mail: string): void {
    this.#unread.push({ to, mail });
  }

  /** Reads some of what came. */
  async read(): Promise<void> {
    const now = this.#unread;
    this.#unread = [];
    for (const one of now) {
      const { mail } = one;
      this.#count += 1;
      if (chance(this.#count, 11) < 0.4) {
        this.#unread.push(one);
        continue;
      }
      const number = this.#count;
      const isNews = /^List-Unsubscribe:/im.test(mail);
      const html = mail.replaceAll('=\r\n', '').replaceAll('=3D', '=');
      const agent = BROWSERS[Math.floor(chance(number, 5) * BROWSERS.length)] ?? '';
      const ask = (url: string) => fetch(url, { redirect: 'manual', headers: { 'user-agent': agent } });
      if (chance(number, 6) > (isNews ? 0.44 : 0.71)) continue;
      const picture = /src="(http[^"]+\/t\/[^"]+o\.gif)"/.exec(html)?.[1];
      if (picture) await ask(picture);
      if (isNews && chance(number, 12) < 0.02) {
        const page = /^List-Unsubscribe:\s*<(http[^>]+)>/im.exec(mail.replaceAll(/\r\n[ \t]/g, ''))?.[1];
        if (page) await fetch(page, { method: 'POST', headers: { 'user-agent': agent } });
      }
      if (chance(number, 7) > (isNews ? 0.22 : 0.48)) continue;
      const links = [...html.matchAll(/href="(http[^"]+\/t\/[^"]+)"/g)].map((match) => match[1] ?? '');
      const link = links[chance(number, 8) < 0.7 ? 0 : Math.floor(chance(number, 9) * links.length)];
      if (link) await ask(link);
    }
  }
}

const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const pick = (at: number) => WEEKDAYS[at % WEEKDAYS.length] ?? 'Monday';

class Telling {
  campaign = '';
  readonly #service: Service;
  readonly #time: Time;
  readonly #readers: Readers;
  readonly #morning: number;
  #people = FIRST_PEOPLE;
  #templates: Record<string, string> = {};

  constructor(service: Service, time: Time, readers: Readers, morning: number) {
    this.#service = service;
    this.#time = time;
    this.#readers = readers;
    this.#morning = morning;
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- as the service answers
  #post(path: string, body: object): Promise<any> {
    return this.#service.api('POST', path, { body });
  }

  /** What is there before the first day: people, mails, segments, a workflow. */
  async begin(): Promise<{ segment: string; template: string; workflow: string }> {
    for (let number = 0; number < FIRST_PEOPLE; number += 1) {
      await this.#post('/contacts', { ...somebody(number), subscribed: chance(number, 10) > 0.06 });
    }
    const templates: [string, Mail, string][] = [
      ['Welcome', WELCOME, 'TRANSACTIONAL'],
      ['Three steps', STEPS, 'MARKETING'],
      ['Your studio is live', LIVE, 'TRANSACTIONAL'],
      ['Booking confirmed', BOOKING, 'TRANSACTIONAL'],
      ['Receipt', RECEIPT, 'TRANSACTIONAL'],
    ];
    for (const [name, mail, type] of templates) {
      this.#templates[name] = (await this.#post('/templates', { name, type, ...FROM, ...mail })).id;
    }
    await this.#post('/domains', { domain: 'news.fernway.example' });
    const when = (field: string, operator: string, more: object = {}) => ({ field, operator, ...more });
    const segments: [string, object][] = [
      [
        'Busy studios',
        {
          logic: 'AND',
          groups: [
            { filters: [when('event.booking.received', 'triggeredWithin', { value: 14, unit: 'days' }), when('subscribed', 'equals', { value: true })] },
            { filters: [], conditions: { logic: 'OR', groups: [{ filters: [when('data.plan', 'equals', { value: 'studio' })] }, { filters: [when('data.plan', 'equals', { value: 'business' })] }] } },
          ],
        },
      ],
      ['Ready for a larger plan', { logic: 'AND', groups: [{ filters: [when('data.plan', 'equals', { value: 'free' }), when('event.booking.received', 'triggered')] }] }],
      ['Joined in the last two weeks', { logic: 'AND', groups: [{ filters: [when('createdAt', 'within', { value: 14, unit: 'days' })] }] }],
    ];
    const made: string[] = [];
    for (const [name, condition] of segments) made.push((await this.#post('/segments', { name, condition, trackMembership: true })).id);
    return { segment: made[0] ?? '', template: this.#templates.Welcome ?? '', workflow: await this.#workflow() };
  }

  async #workflow(): Promise<string> {
    const { id } = await this.#post('/workflows', { name: 'Onboarding', description: 'From the account to the first booking', eventName: 'account.created' });
    const add = async (type: string, name: string, config: object): Promise<string> =>
      (await this.#post(`/workflows/${id}/steps`, { type, name, config, position: { x: 0, y: 0 }, autoConnect: false })).id;
    const way = (fromStepId: string, toStepId: string, more: object = {}) => this.#post(`/workflows/${id}/transitions`, { fromStepId, toStepId, ...more });
    const trigger: string = (await this.#service.api('GET', `/workflows/${id}`)).steps[0].id;
    const welcome = await add('SEND_EMAIL', 'Welcome', { templateId: this.#templates.Welcome });
    const published = await add('WAIT_FOR_EVENT', 'Page published?', { eventName: 'studio.published', timeout: 259_200 });
    const live = await add('SEND_EMAIL', 'Your studio is live', { templateId: this.#templates['Your studio is live'] });
    const steps = await add('SEND_EMAIL', 'Three steps', { templateId: this.#templates['Three steps'] });
    const plan = await add('CONDITION', 'On a paid plan?', { field: 'data.plan', operator: 'notEquals', value: 'free' });
    const mark = await add('UPDATE_CONTACT', 'Mark as onboarded', { updates: { onboarded: true }, subscriptionAction: 'none' });
    const pause = await add('DELAY', 'A week later', { amount: 7, unit: 'days' });
    const end = await add('EXIT', 'Done', {});
    await way(trigger, welcome);
    await way(welcome, published);
    await way(published, live, { waitOutcome: 'EVENT' });
    await way(published, steps, { waitOutcome: 'TIMEOUT' });
    await way(live, plan);
    await way(plan, mark, { branch: 'yes' });
    await way(plan, pause, { branch: 'no' });
    await way(mark, end);
    await way(steps, end);
    await way(pause, end);
    await this.#service.api('PATCH', `/workflows/${id}`, { body: { enabled: true } });
    return id;
  }

  /** A day: people join in the morning, bookings come over the day, mails are read some time after they came. */
  async tell(day: number): Promise<void> {
    const isLast = day === DAYS - 1;
    await this.#time.moveTo(this.#morning + day * DAY);
    for (let joined = 0; joined < JOIN + (day % 7 === 2 ? 3 : 0); joined += 1) {
      await this.#join();
      if (joined % 3 === 2) await this.#pass(isLast, 4 + 9 * chance(day, joined));
    }
    await this.#publish(day);
    if (day === 4) await this.#campaign('Autumn at Fernway', AUTUMN);
    if (day === 13) await this.#campaign('How full classes stay full', TIPS);
    if (day === 24) this.campaign = await this.#campaign('Waiting lists and calendar', NEWS);
    if (isLast) await this.#plans();
    for (let part = 0; part < (isLast ? 3 : 7); part += 1) {
      await this.#pass(isLast, 20 + 80 * chance(day, part + 40));
      await this.#bookings(day * 10 + part, 3);
    }
    await this.#pass(isLast, 17.3);
  }

  /** Lets time pass once no mail is on its way, and has some mails read. */
  async #pass(isLast: boolean, minutes: number): Promise<void> {
    await this.#settled(isLast);
    await this.#time.moveTo(this.#time.now() + minutes * 60_000);
    await this.#readers.read();
  }

  async #join(): Promise<void> {
    const { email, data } = somebody(this.#people);
    this.#people += 1;
    await this.#track(email, 'account.created', data);
    await this.#service.api('POST', '/contacts', { body: { email, data, subscribed: true } });
  }

  async #publish(day: number): Promise<void> {
    const newest = Array.from({ length: 8 }, (_, index) => this.#people - JOIN - 1 - index);
    for (const number of newest) if (chance(number, 20) < 0.6) await this.#track(somebody(number).email, 'studio.published', { classes: 3 + (day % 5) });
  }

  async #bookings(seed: number, count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const { email, data } = somebody(Math.floor(chance(seed, index + 30) * this.#people));
      await this.#track(email, 'booking.received', { class: `${data.kind} for beginners`, amount: 18 + Math.floor(chance(seed, index) * 40) });
      const mail = chance(seed, index + 60) < 0.8 ? 'Booking confirmed' : 'Receipt';
      const forThisMail = (value: string) => ({ value, persistent: false });
      const values = { class: forThisMail(`${data.kind} for beginners`), day: forThisMail(pick(seed + index)), month: forThisMail('this month'), amount: forThisMail('€29.00') };
      await this.#post('/v1/send', { to: { email, name: `${data.firstName} ${data.lastName}` }, template: this.#templates[mail], data: values });
    }
    if (chance(seed, 90) < 0.5) await this.#track(somebody(Math.floor(chance(seed, 91) * FIRST_PEOPLE)).email, 'plan.upgraded', { plan: 'business' });
  }

  #track(email: string, event: string, data: object): Promise<unknown> {
    return this.#post('/v1/track', { email, event, data });
  }

  async #campaign(name: string, mail: Mail): Promise<string> {
    const { data } = await this.#post('/campaigns', { name, type: 'MARKETING', audienceType: 'ALL', ...FROM, ...mail });
    await this.#post(`/campaigns/${data.id}/send`, {});
    await this.#service.until(`${name} is sent`, async () => (await this.#service.api('GET', `/campaigns/${data.id}`)).status === 'SENT');
    return data.id;
  }

  /** What is planned when the story ends. */
  async #plans(): Promise<void> {
    const make = async (name: string, mail: Mail) => (await this.#post('/campaigns', { name, type: 'MARKETING', audienceType: 'ALL', ...FROM, ...mail })).data.id;
    await make('Opening hours over the holidays', TIPS);
    const planned = await make('Gift cards: last call', AUTUMN);
    await this.#post(`/campaigns/${planned}/send`, { scheduledFor: new Date(this.#time.now() + DAY).toISOString() });
  }

  /** Waits until no mail is on its way; `isBusy` when some have to wait for longer. */
  async #settled(isBusy: boolean): Promise<void> {
    const none = async (status: string) => (await this.#service.api('GET', `/emails?status=${status}&limit=1`)).data.length === 0;
    await this.#service.until('mails went out', async () => (isBusy || (await none('PENDING'))) && (await none('SENDING')));
  }

  /** Somebody who has opened and booked. */
  async regular(): Promise<string> {
    const { data } = await this.#service.api('GET', '/emails?status=CLICKED&limit=50');
    return data.find((mail: { contactId?: string }) => mail.contactId)?.contactId ?? '';
  }
}
