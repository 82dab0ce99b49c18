import assert from 'node:assert/strict';
import { test } from 'node:test';
import { successors } from '../../src/features/domain/keys.ts';

const record = { type: 'TXT' as const, found: [] as string[], required: false, status: 'missing' as const, zone: '' };
const key = (name: string, value: string) => ({ ...record, purpose: 'dkim' as const, name, value });

test('the second key of a kind waits to replace the first', () => {
  const spf = { ...record, purpose: 'spf' as const, name: 'acme.test', value: 'v=spf1 k=rsa' };
  const present = [key('a', 'v=DKIM1; k=rsa; p=AA'), key('b', 'v=DKIM1; k=ed25519; p=BB')];
  const names = (records: Parameters<typeof successors>[0]) => successors(records).map(({ name }) => name);
  assert.deepEqual(names([...present, spf, spf]), []);
  assert.deepEqual(names([...present, key('c', 'v=DKIM1; k=rsa; p=CC'), key('d', 'v=DKIM1; k=ed25519; p=DD'), spf]), ['c', 'd']);
  assert.deepEqual(names([...present, key('d', 'v=DKIM1; k=ed25519; p=DD')]), ['d']);
  assert.deepEqual(names([key('a', 'v=DKIM1; p=AA'), key('c', 'v=DKIM1; k=rsa; p=CC')]), ['c']);
});
