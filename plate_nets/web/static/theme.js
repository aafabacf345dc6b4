// Runs before the first paint, so that the page does not flash in the wrong theme.
const theme = localStorage.getItem("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
