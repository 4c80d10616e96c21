class Feed < ApplicationRecord
  belongs_to :feed_item
  belongs_to :profile
end
