// A browser that was started in the POSIX locale may say that its language is `en-US@posix`, which Intl
// refuses, and so would uPlot, which asks for it when it is loaded. Imported before uPlot by chart.mjs.

try {
  Intl.getCanonicalLocales(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en-US' });
}
