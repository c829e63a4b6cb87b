// The last minute as a table, for those to whom charts tell nothing. It stays as it was when it was opened,
// so that it can be read. Used by live.mjs.

import { byId, element } from './dom.mjs';
import { PANELS } from './panels.mjs';

/** A row for so many samples. */
const STEP = 10;

/** What has a line in a chart. */
const COLUMNS = PANELS.flatMap(({ id, title, figures }) =>
  figures
    .filter(({ line }) => line)
    .map((figure) => ({ ...figure, head: id === 'latency' ? `Latency, ${figure.label}` : title })),
);

/** @param {import('./history.mjs').History} history */
export function showWhenOpened(history) {
  const details = byId('minute');
  details.addEventListener('toggle', () => {
    if (details.open) details.querySelector('.scroll').replaceChildren(tableOf(history));
  });
}

/** @param {import('./history.mjs').History} history */
function tableOf({ moments }) {
  const shown = moments.filter((_, index) => (moments.length - 1 - index) % STEP === 0).reverse();
  const head = COLUMNS.map(({ head: text, unit }) =>
    element('th', { scope: 'col' }, [unit ? `${text}, ${unit.replace('/s', 'a second')}` : text]),
  );
  const rows = shown.map((moment) =>
    element('tr', {}, [
      element('th', { scope: 'row' }, [new Date(moment.at).toLocaleTimeString()]),
      ...COLUMNS.map(({ read, format }) =>
        element('td', {}, [format(moment.isGap ? null : read(moment))]),
      ),
    ]),
  );
  return element('table', {}, [
    element('caption', { class: 'unseen' }, ['The last minute, newest first']),
    element('thead', {}, [element('tr', {}, [element('th', { scope: 'col' }, ['Time']), ...head])]),
    element('tbody', {}, rows),
  ]);
}
