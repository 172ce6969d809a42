// Pages without data: their HTML is complete.

listenToTheme();
