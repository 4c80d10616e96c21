class FeedItem < ApplicationRecord
  belongs_to :item, polymorphic: true
  has_many :feeds
end
