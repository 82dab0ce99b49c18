import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pausesOf, wishesFor } from '../../src/features/delivery/scope.ts';

type Kind = 'PAUSE' | 'REROUTE' | 'EXPIRE';
const one = (id: string, kind: Kind, where: { domain?: string; site?: string | null } = {}, byOperator = false) => ({ id, kind, byOperator, ...where });

test('mail to a domain waits for the pauses of the domain, of its site and of everything', () => {
  const all = [
    one('all', 'PAUSE', { site: null }),
    one('domain', 'PAUSE', { domain: 'one.test' }),
    one('other', 'PAUSE', { domain: 'two.test' }),
    one('site', 'PAUSE', { site: 'host.test' }, true),
    one('both', 'PAUSE', { domain: 'one.test', site: 'elsewhere.test' }),
    one('rerouted', 'REROUTE', { domain: 'one.test' }),
    one('expired', 'EXPIRE', { domain: 'one.test' }),
  ];
  const ids = (domain: string, site?: string | null) => pausesOf(all, { domain, ...(site === undefined ? {} : { site }) }).map(({ id }) => id);
  assert.deepEqual(ids('one.test', 'host.test'), ['all', 'domain', 'site']);
  assert.deepEqual(ids('one.test', null), ['all', 'domain']);
  assert.deepEqual(ids('two.test'), ['all', 'other']);
  assert.deepEqual(ids('three.test', 'host.test'), ['all', 'site']);
});

test('only a pause of the project for exactly this mail can be ended in its place', () => {
  const own = one('own', 'PAUSE', { domain: 'one.test' });
  const all = [one('all', 'PAUSE', {}, true), own, one('expired', 'EXPIRE', { domain: 'two.test' })];
  const whats = (scope: { domain?: string; site?: string }) => wishesFor(all, scope).map(({ what }) => what);
  assert.deepEqual(wishesFor(all, { domain: 'one.test' })[0], { what: 'end', scope: { domain: 'one.test' }, ends: own });
  assert.deepEqual(whats({ domain: 'one.test' }), ['end', 'expire']);
  assert.deepEqual(whats({ domain: 'two.test' }), ['pause', 'expire']);
  assert.deepEqual(whats({ site: 'one.test' }), ['pause', 'expire']);
  assert.deepEqual(whats({}), ['pause', 'expire'], 'the operator ends its own');
});
