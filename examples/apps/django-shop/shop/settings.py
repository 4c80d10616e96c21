"""The least that Django needs. The database is the one that the environment names."""

import os

SECRET_KEY = "not secret: this is an example"
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["shop"]
MIDDLEWARE = []
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ.get("PGHOST", ""),
        "PORT": os.environ.get("PGPORT", ""),
        "USER": os.environ.get("PGUSER", "postgres"),
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
        "NAME": os.environ.get("PGDATABASE", "shop"),
        # Connections are kept between requests, as in production.
        "CONN_MAX_AGE": 600,
    }
}
