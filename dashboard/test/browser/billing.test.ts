import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { closeBrowser, Visitor } from './browser.ts';
import { Payments } from './payments.ts';
import { Service } from './service.ts';

let payments: Payments;
let service: Service;

before(async () => {
  payments = await Payments.start();
  service = await Service.start(payments.settings());
});

after(async () => {
  await closeBrowser();
  await service.stop();
  await payments.stop();
});

test('a project is subscribed, sets its limits, and sees what it used and owes', async () => {
  await service.api('POST', '/v1/send', {
    body: { to: 'ada@example.org', from: 'hello@acme.test', subject: 'Hello', body: '<p>Hello</p>' },
  });
  const owner = await Visitor.of(service);
  const { page } = owner;
  // the browser is sent to the payment service, which leads back
  owner.expectFault(new RegExp(`elsewhere: ${payments.url}/`));
  await owner.signIn(service.owner);
  await owner.open('settings?tab=billing');
  await page.getByText('1 of 1,000').waitFor();
  await page.getByRole('progressbar', { name: 'Mails, all kinds: 1 of 1,000' }).waitFor();
  await page.getByLabel('Currency').selectOption('eur');
  await page.getByRole('button', { name: 'Subscribe' }).click();
  await page.getByText('The payment is on its way.').waitFor();
  await payments.tell(service.url, 'checkout.session.completed', {
    id: 'cs_1',
    object: 'checkout.session',
    mode: 'subscription',
    client_reference_id: service.project.id,
    customer: 'cus_acme',
    subscription: 'sub_acme',
    currency: 'eur',
    payment_status: 'paid',
    created: Math.floor(Date.now() / 1000),
  });
  await page.getByText('Thank you: the project has a subscription now.').waitFor();

  payments.invoices = [
    {
      id: 'in_1', customer: 'cus_acme', number: 'A-1 <b>', status: 'open', amount_due: 1250, amount_paid: 0, currency: 'eur',
      created: 1_790_000_000, subtotal: 1250, total: 1250, hosted_invoice_url: 'https://pay.test/in_1', invoice_pdf: 'https://pay.test/in_1.pdf',
    },
  ];
  await owner.open('settings?tab=billing');
  await page.getByText('€12.34').waitFor();
  await page.getByText('A-1 <b> is not paid yet: €12.50.').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Pay A-1 <b>' }).getAttribute('href'), 'https://pay.test/in_1');
  const limits = page.getByRole('form', { name: 'Limits' });
  await limits.getByLabel('Transactional').fill('5000');
  await limits.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('progressbar', { name: 'Transactional: 1 of 5,000' }).waitFor();
  await owner.accessible('billing');
  await page.getByRole('button', { name: 'Payments and cards' }).click();
  await page.waitForURL(/tab=billing/);
  await page.getByRole('button', { name: 'Payments and cards' }).waitFor();
  await owner.close();
});
