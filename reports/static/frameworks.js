// The table of several frameworks; its only control is the theme.

listenToTheme();
