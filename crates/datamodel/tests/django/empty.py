# file: a/models.py
from django.db import models
