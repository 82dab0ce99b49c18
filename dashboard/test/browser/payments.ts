import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const WEBHOOK_SECRET = 'whsec_of_the_tests';

/** A payment service that speaks like Stripe, as far as the pages of billing need it. Its own pages lead back at once. */
export class Payments {
  readonly url: string;
  readonly #server: Server;
  invoices: Record<string, unknown>[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<Payments> {
    let payments: Payments | undefined;
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => {
        body += part;
      });
      request.on('end', () => {
        const back = new URL(request.url ?? '/', 'http://payments').searchParams.get('back');
        if (back) response.writeHead(302, { location: back }).end();
        else {
          response.writeHead(200, { 'content-type': 'application/json' });
          response.end(JSON.stringify(payments?.answer(request.url ?? '', new URLSearchParams(body))));
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    payments = new Payments(server);
    return payments;
  }

  /** The settings with which the service bills here. */
  settings(): Record<string, string> {
    return {
      MAILWRIGHT_BILLING_API_BASE: this.url,
      MAILWRIGHT_BILLING_SECRET_KEY: 'sk_test_of_the_tests',
      MAILWRIGHT_BILLING_WEBHOOK_SECRET: WEBHOOK_SECRET,
      MAILWRIGHT_BILLING_PRICE_USAGE: 'price_usage',
    };
  }

  private answer(path: string, fields: URLSearchParams): unknown {
    const page = (name: string, back: string) => ({ id: 'cs_1', url: `${this.url}/${name}?back=${encodeURIComponent(back)}` });
    if (path === '/v1/checkout/sessions') return page('pay', fields.get('success_url') ?? '');
    if (path === '/v1/billing_portal/sessions') return page('portal', fields.get('return_url') ?? '');
    if (path === '/v1/invoices/create_preview') {
      return { amount_due: 1234, subtotal: 1234, total: 1234, currency: 'eur', period_start: 1_790_000_000, period_end: 1_792_592_000 };
    }
    if (path.startsWith('/v1/invoices')) return { object: 'list', data: this.invoices, has_more: false };
    if (path.startsWith('/v1/subscriptions/')) {
      return { status: 'active', items: { data: [{ current_period_start: 1_790_000_000, current_period_end: 1_792_592_000 }] } };
    }
    if (path.startsWith('/v1/customers/')) return { balance: -250, currency: 'eur' };
    return { object: 'billing.meter_event', identifier: fields.get('identifier') };
  }

  /** Tells the service that something happened, signed. */
  async tell(service: string, type: string, object: Record<string, unknown>): Promise<void> {
    const at = Math.floor(Date.now() / 1000);
    const body = JSON.stringify({ id: `evt_${type}`, object: 'event', type, created: at, data: { object } });
    const tag = createHmac('sha256', WEBHOOK_SECRET).update(`${at}.${body}`).digest('hex');
    const headers = { 'content-type': 'application/json', 'stripe-signature': `t=${at},v1=${tag}` };
    const answer = await fetch(`${service}/webhooks/incoming/payments`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
