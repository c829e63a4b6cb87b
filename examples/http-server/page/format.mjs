// Numbers as texts, in the same number of characters wherever that can be. Used by panels.mjs,
// connections.mjs, load.mjs and minute.mjs.

const NOTHING = '–';

/** @param {number} fractionDigits */
function formatter(fractionDigits) {
  const format = new Intl.NumberFormat('en', {
    minimumFractionDigits: fractionDigits,
    maximumFractionDigits: fractionDigits,
  });
  return (value) => format.format(value);
}

const [whole, tenths, hundredths] = [0, 1, 2].map(formatter);
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** @param {(value: number) => string} format */
const orNothing = (format) => (value) => (value === null ? NOTHING : format(value));

export const count = orNothing(whole);

export const ratio = orNothing(tenths);

/** Whoever has missed is never told 100 %. */
export const percent = orNothing((value) => tenths(Math.floor(value * 10) / 10));

export const millis = orNothing((value) => {
  if (value < 9.995) return hundredths(value);
  return value < 99.95 ? tenths(value) : whole(value);
});

export const micros = orNothing((value) => `${whole(value)} µs`);

/** Of an axis. */
export const tick = (value) => compact.format(value).replace('K', 'k');

/** @param {number} amount @param {string} noun */
export const several = (amount, noun) => `${whole(amount)} ${noun}${amount === 1 ? '' : 's'}`;
