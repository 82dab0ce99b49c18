import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expression, isPlaceholder, labelOf, pathTo, pieces, placeholder, readPlaceholder } from '../../src/editor/liquid.ts';

test('a text is cut into its parts, and they are the text again', () => {
  const text = 'a {{ name ?? "}}" }} b {% if x == "%}" %}{{{raw}}}{{ it\'s }} {{ open {%';
  const parts = pieces(text);
  assert.equal(parts.map((part) => part.text).join(''), text);
  assert.deepEqual(
    parts.filter((part) => part.kind !== 'text').map((part) => part.text),
    ['{{ name ?? "}}" }}', '{% if x == "%}" %}', '{{{raw}}}', "{{ it's }}"],
  );
  assert.deepEqual(pieces(''), []);
  assert.deepEqual(pieces('body { color: red }'), [{ kind: 'text', text: 'body { color: red }' }]);
});

test('placeholders are written so that every name can be read', () => {
  assert.equal(placeholder('name'), '{{name}}');
  assert.equal(placeholder('name', 'friend'), '{{name ?? "friend"}}');
  assert.equal(placeholder('name', 'a "b"'), `{{name ?? 'a "b"'}}`);
  assert.equal(pathTo('first name'), 'data["first name"]');
  assert.equal(pathTo('profile.tier'), 'profile.tier');
});

test('simple placeholders can be edited in fields, others keep their text', () => {
  assert.deepEqual(readPlaceholder('{{name ?? "friend"}}'), { name: 'name', fallback: 'friend' });
  assert.deepEqual(readPlaceholder('{{ data["first name"] }}'), { name: 'first name', fallback: '' });
  for (const other of ['{{name | upcase}}', '{{{name}}}', '{{name ?? dear you}}', 'x{{name}}']) {
    assert.equal(readPlaceholder(other), undefined);
  }
  assert.equal(labelOf('{{ name | upcase }}'), 'name | upcase');
  assert.ok(isPlaceholder('{{a}}'));
  assert.ok(!isPlaceholder('{{a}} '));
  assert.equal(expression(' a \n %} {{b}} '), 'a b');
});
